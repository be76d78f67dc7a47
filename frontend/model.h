// SPDX-License-Identifier: Apache-2.0
// Model: named states, and graphs written as functions, which are traced for the shapes they are
// called with.
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

/// An extent of an input: a number, or a name that stands for what the caller brings.
struct Dim {
  Dim(int number) : extent(number) {}
  Dim(int64_t number) : extent(number) {}
  Dim(const char* text) : name(text), is_name(true) {}

  int64_t extent = -1;
  std::string name;
  bool is_name = false;
};

/// The extents that names stand for.
using Extents = std::map<std::string, int64_t, std::less<>>;

/// What a graph returns: values, perhaps with names.
struct Results {
  Results() = default;
  Results(Value value) : values{value} {}
  Results(const State& state) : values{Value(state)} {}
  Results(Values several) : values(std::move(several)) {}
  /// Throws ErrorKind::input, at the caller's line, for a name that is empty or there already.
  Results(std::initializer_list<std::pair<std::string, Value>> named, Where where = Where::here());

  Values values;
  std::vector<std::string> names;  ///< empty or one for each
};

class Model;

/// How a state of a model is kept. Without more it is a *buffer*: like a parameter it is in every
/// file that Session::save() writes, and Session::load() misses it where a file lacks it. A
/// *transient* state is what only a training that goes on needs: activations that are carried from
/// call to call, scratch. What optimizers keep and `random.seed` and `random.step` are transient.
struct StateOptions {
  bool transient = false;
};

/// The type of what a caller brings, and whether it becomes what the graph declares (Data).
struct GivenType {
  Type type;
  bool converts = false;

  GivenType(const Type& exactly) : type(exactly) {}
  explicit GivenType(const Data& data) : type(data.type()), converts(data.converts()) {}
  bool operator==(const GivenType&) const = default;
};
using GivenTypes = std::vector<GivenType>;

/// The same by the names of the inputs.
using NamedTypes = std::map<std::string, GivenType, std::less<>>;

/// What a graph is traced for: types by place or by name, or extents of its named dims.
struct TraceFor {
  const GivenTypes* types = nullptr;
  const NamedTypes* named = nullptr;
  const Extents* extents = nullptr;
  /// Only to see what the types are: states may have others in the trace that counts.
  bool sounding = false;
};

class Inputs;
struct TracedGraph;

/// The C++ expression that an input is declared in: a defaulted argument, which the compiler keeps
/// until the end of the whole expression. So inputs that are declared while one is there are of the
/// same expression, whose order of evaluation C++ leaves open; they take the order in which they
/// are written.
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

/// The arguments of a graph while it is being traced.
class Inputs {
 public:
  Inputs(const Inputs&) = delete;

  /// The next input: `in("tokens", i32, {"steps", "batch"})`. Several in one expression are in the
  /// order in which they are written. Throws ErrorKind::input, at this line, when what the caller
  /// brings has another dtype, rank or extent, and when an input before has the name or it is
  /// empty.
  Value operator()(const std::string& name, DType dtype, const std::vector<Dim>& dims,
                   Where where = Where::here(), const DeclaredIn& expression = DeclaredIn());
  /// What a name among the dims so far stands for.
  int64_t extent(std::string_view dim, Where where = Where::here()) const;
  /// The extent of a dim as the caller brings it (i32[]), for ScanOptions::lengths: less than
  /// extent() where the session rounds the dim up. It is an input that the session adds.
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
  /// Thrown through the graph's function when its inputs turn out to be in another order than it
  /// took them in: it is traced again.
  struct InAnotherOrder {};
  /// An input that has been declared.
  struct Declared {
    Where where;
    Value value;
    std::vector<Dim> dims;
  };

  /// `order` is what is known of the order of the inputs, by name.
  Inputs(Model& model, Trace& trace, const TraceFor& wanted, std::vector<std::string> order);
  int64_t extent_of(const Dim& dim, int axis, const Type* found, const std::string& input,
                    Where where);
  /// The type of an input, from what the caller brings or the extents that are given.
  Type type_of(const std::string& name, size_t place, DType dtype, const std::vector<Dim>& dims,
               Where where);
  /// The place of an input among all; throws InAnotherOrder.
  size_t place_of(const std::string& name, const DeclaredIn& expression, Where where);
  /// What the caller brings for it; null where the graph is traced for extents.
  const GivenType* given(const std::string& name, size_t place, Where where) const;
  /// Throws ErrorKind::input unless the caller's inputs are those declared.
  void expect_all_declared(Where where) const;
  /// Adds what the trace knows of its inputs, and their values in order.
  void describe(TracedGraph& traced, Values& values) const;

  Model& model_;
  Trace& trace_;
  const TraceFor& wanted_;
  std::vector<std::string> order_;
  bool reordered_ = false;
  std::optional<Error> pending_;  ///< of an input of the expression that has not ended
  size_t pending_place_ = 0;
  std::map<std::string, Declared> declared_;
  std::vector<const DeclaredIn*> expression_;  ///< the inputs of the expression so far
  Extents extents_;
  std::map<std::string, Value> lengths_;  ///< by dim
};

using GraphFunction = std::function<Results(Inputs&)>;

/// A graph as traced for certain shapes.
struct TracedGraph {
  GraphPtr graph;
  std::vector<std::string> inputs;        ///< the names of those that the caller brings, in order
  Extents extents;                        ///< what the named dims stood for
  std::vector<std::string> result_names;  ///< empty, or one for each result
  std::vector<InputBound> bounds;         ///< of inputs that are lengths
  std::vector<std::vector<Dim>> dims;     ///< of the inputs that the caller brings, in order
  /// Inputs (i32[]) that the caller does not bring: names, and the dims whose extents they are.
  std::map<std::string, std::string> lengths;
  std::vector<Remark> remarks;  ///< on what is right and perhaps not meant
  double seconds = 0;
};

/// Sessions of several threads may share one: they trace one after another.
class Model {
 public:
  explicit Model(std::string name);
  Model(const Model&) = delete;

  const std::string& name() const { return name_; }
  /// No other model of the process has it.
  int64_t id() const { return id_; }
  /// Lives as long as the model.
  std::weak_ptr<const void> alive() const { return alive_; }

  /// Declares a parameter (f32). To share one, use the object twice. A name is of one parameter or
  /// state: throws ErrorKind::input, at `where`, when it is empty or taken. A graph is traced
  /// several times, and may declare in each what the same line of it declared before, with the same
  /// type.
  Param param(const std::string& name, const Shape& shape, Initializer initializer,
              Where where = Where::here());
  /// Declares a state that is no parameter; otherwise as param(). One that need not outlive the
  /// training: `model.state("h", {f32, {batch, 64}}, zeros(), {.transient = true})`.
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
  /// The number of their elements.
  int64_t parameter_count() const;
  std::vector<std::string> graphs() const;
  /// Those of them that were traced at least once: what they declare is among states().
  std::set<std::string> traced_graphs() const;
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
    return trace(graph, TraceFor{.types = &inputs});
  }
  TracedGraph trace_for(std::string_view graph, const NamedTypes& inputs) {
    return trace(graph, TraceFor{.named = &inputs});
  }
  /// The same for sizes that are not those of the graph that will run: a state that has an extent
  /// of theirs keeps the type that it has, or gets it from the trace that comes next.
  TracedGraph sound(std::string_view graph, const GivenTypes& inputs) {
    return trace(graph, TraceFor{.types = &inputs, .sounding = true});
  }

 private:
  friend class LoadedModel;  // which declares what a file has, random states among it
  struct Function {
    std::string name;
    Mode mode;
    GraphFunction function;
    Where where;
  };
  /// While one is there, traces are TraceFor::sounding; then the states have their types again.
  class Sounding {
   public:
    Sounding(Model& model, bool sounding);
    Sounding(const Sounding&) = delete;
    ~Sounding();

   private:
    Model& model_;
  };
  TracedGraph trace(std::string_view graph, const TraceFor& wanted);
  /// One attempt; what it learns of the order of the inputs goes to `order`, and without a graph
  /// when the function is to be traced again.
  TracedGraph trace_once(const Function& function, const TraceFor& wanted,
                         std::vector<std::string>& order);
  const Function& find(std::string_view graph) const;
  std::shared_ptr<StateCell> declare(StateCell cell);
  /// Throws ErrorKind::input unless `cell` may be the state declared before.
  void expect_same(StateCell& known, const StateCell& cell);
  /// Whether the state may be declared as another type, which it has from then on.
  bool retyped(StateCell& known, const StateCell& cell);
  void add(const std::shared_ptr<StateCell>& cell);

  std::string name_;
  int64_t id_;
  std::shared_ptr<const void> alive_;

  /// Of all below: sessions of several threads trace, which declares states, and look states up.
  mutable std::recursive_mutex mutex_;
  std::vector<std::shared_ptr<StateCell>> cells_;
  std::map<std::string, std::shared_ptr<StateCell>, std::less<>> by_name_;
  std::map<std::string, int64_t> declared_in_;  ///< states that traces declare: the last of them
  bool sounding_ = false;
  std::map<StateCell*, Type> types_before_;  ///< of what a sounding trace has given another type
  std::set<std::string> provisional_;        ///< states of which only sounding traces know
  std::vector<Function> functions_;
  std::set<std::string> traced_;
};

}  // namespace graphc::core
