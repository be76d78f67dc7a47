// SPDX-License-Identifier: Apache-2.0
// Model: named states and graphs. Graphs are written as functions and traced for the shapes they
// are called with.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <vector>

#include "frontend/data.h"
#include "frontend/initializers.h"
#include "frontend/params.h"
#include "frontend/state.h"
#include "frontend/trace.h"

namespace graphc::core {

/// An extent of an input: a number, or a name for an extent that the caller chooses.
struct Dim {
  Dim(int number) : extent(number) {}
  Dim(int64_t number) : extent(number) {}
  Dim(const char* text) : name(text), is_name(true) {}

  int64_t extent = -1;
  std::string name;
  bool is_name = false;
};

/// The extents of named dims.
using Extents = std::map<std::string, int64_t, std::less<>>;

/// What a graph returns: values, optionally with names.
struct Results {
  Results() = default;
  Results(Value value) : values{value} {}
  Results(const State& state) : values{Value(state)} {}
  Results(Values several) : values(std::move(several)) {}
  /// Throws ErrorKind::input, at the caller's line, for a name that is empty or repeated.
  Results(std::initializer_list<std::pair<std::string, Value>> named, Where where = Where::here());

  Values values;
  std::vector<std::string> names;  ///< empty, or one per value
};

class Model;

/// How a state of a model is kept. By default it is a *buffer*: like a parameter, it is in every
/// file written by Session::save(), and Session::load() requires it. A *transient* state is needed
/// only to resume a training: activations carried from call to call, scratch. Optimizer states,
/// `random.seed` and `random.step` are transient.
struct StateOptions {
  bool transient = false;
};

/// The type of a caller's input, and whether it is converted to the declared type (Data).
struct GivenType {
  Type type;
  bool converts = false;

  GivenType(const Type& exactly) : type(exactly) {}
  explicit GivenType(const Data& data) : type(data.type()), converts(data.converts()) {}
  bool operator==(const GivenType&) const = default;
};
using GivenTypes = std::vector<GivenType>;

/// The same by input name.
using NamedTypes = std::map<std::string, GivenType, std::less<>>;

/// What to trace a graph for: input types by position or by name, or the extents of its named dims.
struct TraceFor {
  const GivenTypes* types = nullptr;
  const NamedTypes* named = nullptr;
  const Extents* extents = nullptr;
  /// A trial trace that only determines types: states may have other types in the final trace.
  bool sounding = false;
};

class Inputs;
struct TracedGraph;

/// Identifies the C++ expression in which an input is declared. It is a default argument, which
/// lives until the end of the full expression, so inputs declared while it lives belong to the same
/// expression. C++ leaves the evaluation order of arguments open; these inputs are put in the order
/// in which they are written.
class DeclaredIn {
 public:
  DeclaredIn(std::source_location place = std::source_location::current()) : place_(place) {}
  ~DeclaredIn();
  DeclaredIn(const DeclaredIn&) = delete;

 private:
  friend class Inputs;
  std::source_location place_;
  mutable Inputs* inputs_ = nullptr;
  mutable std::string name_;
};

/// The inputs of a graph while it is traced.
class Inputs {
 public:
  Inputs(const Inputs&) = delete;

  /// The next input: `in("tokens", i32, {"steps", "batch"})`. Several inputs in one expression are
  /// ordered as written. Throws ErrorKind::input, at this line, if the caller's input has another
  /// dtype, rank or extent, and if the name is empty or already used.
  Value operator()(const std::string& name, DType dtype, const std::vector<Dim>& dims,
                   Where where = Where::here(), const DeclaredIn& expression = DeclaredIn());
  /// Throws what is wrong with the inputs so far, which is otherwise put off to the end of the C++
  /// expression that declares them: for languages that say which of its calls comes first.
  void expect_matching() const {
    if (pending_) throw *pending_;
  }
  /// The extent of a dim named so far.
  int64_t extent(std::string_view dim, Where where = Where::here()) const;
  /// The extent of a dim as the caller passes it (i32[]), for ScanOptions::lengths: smaller than
  /// extent() if the session rounds the dim up. It is an input that the session adds.
  Value length(std::string_view dim, Where where = Where::here());
  /// A state of the model; see Model::state.
  State state(const std::string& name, const Shape& shape, Initializer initializer = zeros(),
              StateOptions options = {}, Where where = Where::here());
  State state(const std::string& name, const Type& type, Initializer initializer = zeros(),
              StateOptions options = {}, Where where = Where::here());
  bool training() const { return trace_.mode() == Mode::training; }

 private:
  friend class Model;
  friend class DeclaredIn;
  /// Thrown through the graph's function when its inputs turn out to be declared in another order;
  /// the function is then traced again.
  struct InAnotherOrder {};
  /// A declared input.
  struct Declared {
    Where where;
    Value value;
    std::vector<Dim> dims;
  };

  /// `order` is the order of the inputs by name, as far as it is known.
  Inputs(Model& model, Trace& trace, const TraceFor& wanted, std::vector<std::string> order);
  int64_t extent_of(const Dim& dim, int axis, const Type* found, const std::string& input,
                    Where where);
  /// The type of an input, from the caller's inputs or the given extents.
  Type type_of(const std::string& name, size_t place, DType dtype, const std::vector<Dim>& dims,
               Where where);
  /// The position of an input; throws InAnotherOrder.
  size_t place_of(const std::string& name, const DeclaredIn& expression, Where where);
  /// The caller's input; null if the graph is traced for extents.
  const GivenType* given(const std::string& name, size_t place, Where where) const;
  /// Throws ErrorKind::input unless the caller's inputs match the declared ones.
  void expect_all_declared(Where where) const;
  /// Adds what the trace knows about its inputs, and their values in order.
  void describe(TracedGraph& traced, Values& values) const;

  Model& model_;
  Trace& trace_;
  const TraceFor& wanted_;
  std::vector<std::string> order_;
  bool reordered_ = false;
  std::optional<Error> pending_;  ///< from an input of the current expression
  size_t pending_place_ = 0;
  std::map<std::string, Declared> declared_;
  std::vector<const DeclaredIn*> expression_;  ///< the inputs of the current expression so far
  Extents extents_;
  std::map<std::string, Value> lengths_;  ///< by dim
};

using GraphFunction = std::function<Results(Inputs&)>;

/// A graph traced for given shapes.
struct TracedGraph {
  GraphPtr graph;
  std::vector<std::string> inputs;        ///< names of the caller's inputs, in order
  Extents extents;                        ///< of the named dims
  std::vector<std::string> result_names;  ///< empty, or one for each result
  std::vector<InputBound> bounds;         ///< for inputs that are lengths
  std::vector<std::vector<Dim>> dims;     ///< of the caller's inputs, in order
  /// Inputs (i32[]) that the session adds: names, and the dims whose extents they are.
  std::map<std::string, std::string> lengths;
  std::vector<Remark> remarks;  ///< about code that is valid but may not be intended
  double seconds = 0;
};

/// Several sessions on different threads may share one; their traces are serialised.
class Model {
 public:
  explicit Model(std::string name);
  Model(const Model&) = delete;

  const std::string& name() const { return name_; }
  /// Unique in the process.
  int64_t id() const { return id_; }
  /// Expires with the model.
  std::weak_ptr<const void> alive() const { return alive_; }

  /// Declares a parameter (f32). To share one, use the object twice. Throws ErrorKind::input, at
  /// `where`, if the name is empty or taken. A graph is traced several times; each trace may
  /// declare the same parameter again, from the same line and with the same type.
  Param param(const std::string& name, const Shape& shape, Initializer initializer,
              Where where = Where::here());
  /// Declares a state that is not a parameter; otherwise like param(). A state that only the
  /// training needs: `model.state("h", {f32, {batch, 64}}, zeros(), {.transient = true})`.
  State state(const std::string& name, const Type& type, Initializer initializer = zeros(),
              StateOptions options = {}, Where where = Where::here());

  /// Adds a graph. The function is called once for each set of input shapes.
  void graph(const std::string& name, Mode mode, GraphFunction function,
             Where where = Where::here());
  void graph(const std::string& name, GraphFunction function, Where where = Where::here()) {
    graph(name, Mode::evaluation, std::move(function), where);
  }

  /// The parameters in the order of declaration.
  Params params() const;
  /// The total number of elements of the parameters.
  int64_t parameter_count() const;
  std::vector<std::string> graphs() const;
  /// The graphs that were traced at least once: states() has the states that they declare.
  std::set<std::string> traced_graphs() const;
  /// Every state declared so far. Tracing may declare more.
  std::vector<std::shared_ptr<StateCell>> states() const;
  /// The state called `name`; throws ErrorKind::input with similar names.
  const std::shared_ptr<StateCell>& state_cell(std::string_view name) const;

  /// Traces a graph for inputs of the given types, or for given extents of its named dims. Throws
  /// ErrorKind::input naming the line of the user's program that does not match.
  TracedGraph trace(std::string_view graph, const std::vector<Type>& inputs);
  TracedGraph trace(std::string_view graph, const Extents& extents);
  /// The same if some of the inputs are converted to the declared types.
  TracedGraph trace_for(std::string_view graph, const GivenTypes& inputs) {
    return trace(graph, TraceFor{.types = &inputs});
  }
  TracedGraph trace_for(std::string_view graph, const NamedTypes& inputs) {
    return trace(graph, TraceFor{.named = &inputs});
  }
  /// The same for sizes other than those of the graph that will run: a state with such an extent
  /// keeps its type, or gets it from the next trace.
  TracedGraph sound(std::string_view graph, const GivenTypes& inputs) {
    return trace(graph, TraceFor{.types = &inputs, .sounding = true});
  }

 private:
  friend class LoadedModel;  // declares the states of a file, including random states
  struct Function {
    std::string name;
    Mode mode;
    GraphFunction function;
    Where where;
  };
  /// While one exists, traces are TraceFor::sounding; its destructor restores the types of states.
  class Sounding {
   public:
    Sounding(Model& model, bool sounding);
    Sounding(const Sounding&) = delete;
    ~Sounding();

   private:
    Model& model_;
  };
  TracedGraph trace(std::string_view graph, const TraceFor& wanted);
  /// One attempt. Adds what it learns about the order of the inputs to `order`; returns no graph if
  /// the function must be traced again.
  TracedGraph trace_once(const Function& function, const TraceFor& wanted,
                         std::vector<std::string>& order);
  const Function& find(std::string_view graph) const;
  std::shared_ptr<StateCell> declare(StateCell cell);
  /// Throws ErrorKind::input unless `cell` may redeclare this state.
  void expect_same(StateCell& known, const StateCell& cell);
  /// Whether the state may be redeclared with another type; if so, gives it that type.
  bool retyped(StateCell& known, const StateCell& cell);
  void add(const std::shared_ptr<StateCell>& cell);

  std::string name_;
  int64_t id_;
  std::shared_ptr<const void> alive_;

  /// Guards everything below: sessions on several threads trace, which declares states, and look up
  /// states.
  mutable std::recursive_mutex mutex_;
  std::vector<std::shared_ptr<StateCell>> cells_;
  std::map<std::string, std::shared_ptr<StateCell>, std::less<>> by_name_;
  std::map<std::string, int64_t> declared_in_;  ///< states declared by traces: the last such trace
  bool sounding_ = false;
  std::map<StateCell*, Type> types_before_;  ///< of states retyped by a trial trace
  std::set<std::string> provisional_;        ///< states known only to trial traces
  std::vector<Function> functions_;
  std::set<std::string> traced_;
};

}  // namespace graphc::core
