// SPDX-License-Identifier: Apache-2.0
// Model: named states, and graphs written as functions, which are traced for the shapes they are
// called with.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frontend/data.h"
#include "frontend/initializers.h"
#include "frontend/state.h"
#include "frontend/trace.h"

namespace graphc::core {

/// An extent of an input: a number, or a name that stands for what the caller brings.
struct Dim {
  Dim(int number) : extent(number) {}
  Dim(int64_t number) : extent(number) {}
  Dim(const char* text) : name(text) {}

  int64_t extent = -1;
  std::string name;
};

/// The extents that names stand for.
using Extents = std::map<std::string, int64_t, std::less<>>;

/// What a graph returns: values, perhaps with names.
struct Results {
  Results() = default;
  Results(Value value) : values{value} {}
  Results(const State& state) : values{Value(state)} {}
  Results(Values several) : values(std::move(several)) {}
  Results(std::initializer_list<std::pair<std::string, Value>> named);

  Values values;
  std::vector<std::string> names;  ///< empty or one for each
};

class Model;

/// The type of what a caller brings, and whether it becomes what the graph declares (Data).
struct GivenType {
  Type type;
  bool converts = false;

  GivenType(const Type& exactly) : type(exactly) {}
  explicit GivenType(const Data& data) : type(data.type()), converts(data.converts()) {}
  bool operator==(const GivenType&) const = default;
};
using GivenTypes = std::vector<GivenType>;

/// The arguments of a graph while it is being traced.
class Inputs {
 public:
  /// The next input: `in("tokens", i32, {"steps", "batch"})`. Throws ErrorKind::input, at this
  /// line, when what the caller brings has another dtype, rank or extent, and when an input before
  /// has the name.
  Value operator()(const std::string& name, DType dtype, const std::vector<Dim>& dims,
                   Where where = Where::here());
  /// What a name among the dims so far stands for.
  int64_t extent(std::string_view dim, Where where = Where::here()) const;
  /// The extent of a dim as the caller brings it (i32[]), for ScanOptions::lengths: less than
  /// extent() where the session rounds the dim up. It is an input that the session adds.
  Value length(std::string_view dim, Where where = Where::here());
  /// A state of the model; see Model::state.
  State state(const std::string& name, const Shape& shape, Initializer initializer = zeros(),
              Where where = Where::here());
  State state(const std::string& name, const Type& type, Initializer initializer = zeros(),
              Where where = Where::here());
  bool training() const { return trace_.mode() == Mode::training; }

 private:
  friend class Model;
  Inputs(Model& model, Trace& trace, const GivenTypes* types, const Extents* extents)
      : model_(model), trace_(trace), types_(types) {
    if (extents != nullptr) given_ = *extents;
  }
  int64_t extent_of(const Dim& dim, int axis, const Type* found, const std::string& input,
                    Where where);

  Model& model_;
  Trace& trace_;
  const GivenTypes* types_;
  size_t count_ = 0;
  std::map<std::string, Where> declared_;
  Extents extents_, given_;
  std::vector<std::vector<Dim>> dims_;
  std::map<std::string, Value> lengths_;  ///< by dim
};

using GraphFunction = std::function<Results(Inputs&)>;

/// A graph as traced for certain shapes.
struct TracedGraph {
  GraphPtr graph;
  Extents extents;                        ///< what the named dims stood for
  std::vector<std::string> result_names;  ///< empty, or one for each result
  std::vector<InputBound> bounds;         ///< of inputs that are lengths
  std::vector<std::vector<Dim>> dims;     ///< of the inputs that the caller brings, in order
  /// Inputs (i32[]) that the caller does not bring: names, and the dims whose extents they are.
  std::map<std::string, std::string> lengths;
  double seconds = 0;
};

/// Sessions of several threads may share one: they trace one after another.
class Model {
 public:
  explicit Model(std::string name) : name_(std::move(name)) {}
  Model(const Model&) = delete;

  const std::string& name() const { return name_; }

  /// Declares a parameter (f32). Declared twice with one shape it is one parameter: sharing. Throws
  /// ErrorKind::input, at `where`, when it is declared with another shape, or as a state.
  Param param(const std::string& name, const Shape& shape, Initializer initializer,
              Where where = Where::here());
  /// Declares a state that is no parameter; otherwise as param().
  State state(const std::string& name, const Type& type, Initializer initializer = zeros(),
              Where where = Where::here());

  /// Adds a graph. The function is called once for each set of input shapes.
  void graph(const std::string& name, Mode mode, GraphFunction function,
             Where where = Where::here());
  void graph(const std::string& name, GraphFunction function, Where where = Where::here()) {
    graph(name, Mode::evaluation, std::move(function), where);
  }

  /// The parameters in the order of declaration.
  Params params() const;
  /// The number of their elements.
  int64_t parameter_count() const;
  std::vector<std::string> graphs() const;
  /// Every state declared so far. Tracing may declare more.
  std::vector<std::shared_ptr<StateCell>> states() const;
  /// The state called `name`; throws ErrorKind::input naming what is near.
  const std::shared_ptr<StateCell>& state_cell(std::string_view name) const;

  /// Traces a graph for inputs of the given types, or for given extents of its named dims. Throws
  /// ErrorKind::input naming the line of the user's program that does not fit.
  TracedGraph trace(std::string_view graph, const std::vector<Type>& inputs);
  TracedGraph trace(std::string_view graph, const Extents& extents);
  /// The same where some of the inputs become what the graph declares.
  TracedGraph trace_for(std::string_view graph, const GivenTypes& inputs) {
    return trace(graph, &inputs, nullptr);
  }

 private:
  struct Function {
    std::string name;
    Mode mode;
    GraphFunction function;
    Where where;
  };
  TracedGraph trace(std::string_view graph, const GivenTypes* types, const Extents* extents);
  const Function& find(std::string_view graph) const;
  std::shared_ptr<StateCell> declare(StateCell cell);

  std::string name_;
  void add(const std::shared_ptr<StateCell>& cell);

  /// Of all below: sessions of several threads trace, which declares states, and look states up.
  mutable std::recursive_mutex mutex_;
  std::vector<std::shared_ptr<StateCell>> cells_;
  std::map<std::string, std::shared_ptr<StateCell>, std::less<>> by_name_;
  std::vector<Function> functions_;
};

}  // namespace graphc::core
