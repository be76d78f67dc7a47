// SPDX-License-Identifier: Apache-2.0
// Trace: a graph while the user's function builds it. Users see only its effects: the graph that
// source nodes go to, the current values of states, and the next random key.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/state.h"
#include "ir/graph.h"
#include "passes/pass.h"

namespace graphc::core {

/// The purpose of a graph; layers such as dropout depend on it.
enum class Mode { evaluation, training };

/// A region under construction and the states used in it.
struct Scope {
  /// A state in a region. `entry` is its value at the start of the region: in a body, an input that
  /// stands for `outer`, its value in the enclosing region.
  struct Seen {
    std::shared_ptr<StateCell> cell;
    Value outer, entry, current;
    bool assigned = false;
    Where assigned_at;  ///< the last assignment
  };

  Graph* graph = nullptr;
  std::deque<Seen> seen;
  Value index;  ///< the step index, once requested

  /// The state in this region, or null if it has not been used.
  Seen* find(const StateCell& cell);
  void add(Seen state);

  std::unordered_map<const StateCell*, size_t> places{};  ///< indices into `seen`
};

/// The bounds of an integer input: its elements are in [0, most].
struct InputBound {
  std::string input;
  int64_t most = 0;
  Where where;  ///< the line that requires it
};

class Trace {
 public:
  /// Begins a graph, current on this thread until the trace ends. Traces do not nest.
  Trace(std::string graph_name, Mode mode);
  ~Trace();
  Trace(const Trace&) = delete;

  /// The trace of this thread, or null.
  static Trace* current();
  /// The same; throws ErrorKind::input saying that `what` needs a trace.
  static Trace& require(std::string_view what, Where where);

  const std::string& name() const { return graph_->name(); }
  Mode mode() const { return mode_; }
  /// Unique in the process.
  int64_t id() const { return id_; }
  /// The innermost region under construction.
  Graph& graph() { return *scopes_.back().graph; }
  Graph& root() { return *scopes_.front().graph; }
  /// The value in the innermost region. Throws ErrorKind::input, at the value's line, if it belongs
  /// to a loop that has ended.
  Value here(Value value, Where where = {});

  // --- states ---

  /// Declares a state of the model: returns the one declared before under its name, or this one.
  /// Throws ErrorKind::input if it was declared with another kind.
  std::shared_ptr<StateCell> declare(StateCell cell) { return declare_(std::move(cell)); }
  /// Set by the tracing model: how to declare its states.
  void set_model(int64_t id, std::string name,
                 std::function<std::shared_ptr<StateCell>(StateCell)> declare) {
    model_ = id;
    model_name_ = std::move(name);
    declare_ = std::move(declare);
  }
  /// Throws ErrorKind::input, at `where`, for a state of another model.
  void expect_own(const StateCell& cell, Where where) const;
  void add_register(const std::shared_ptr<StateCell>& cell, Value initial);
  Value read(const std::shared_ptr<StateCell>& cell, Where where);
  void assign(const std::shared_ptr<StateCell>& cell, Value value, Where where);
  /// The value of the state before the graph runs: what derivatives refer to.
  Value leaf(const std::shared_ptr<StateCell>& cell);
  /// The state if the graph has assigned it outside of loops; otherwise null.
  const Scope::Seen* assigned(const StateCell& cell);
  /// Values of parameters that were read after the graph had assigned them.
  const std::unordered_map<const Node*, std::shared_ptr<StateCell>>& new_values() const {
    return new_values_;
  }
  /// The states of the model that the graph uses, in the order of first use.
  std::vector<std::shared_ptr<StateCell>> states_of_model() const;
  /// Whether the graph assigns a state of the model other than the count of random draws.
  bool writes_states() const;

  // --- inputs ---

  /// Bounds lengths by `steps`; recorded if they are an unmodified input of the graph.
  void bound(Value lengths, int64_t steps, Where where);
  const std::vector<InputBound>& bounds() const { return bounds_; }

  // --- loops ---

  Scope& open(std::string name);
  /// Ends the innermost scope. Its graph lives as long as the trace, so that a value leaked out of
  /// a loop is detected instead of dangling.
  Scope close();
  /// The same for a body that is abandoned; unlike close() it allocates nothing.
  void abandon() noexcept { scopes_.pop_back(); }
  bool in_loop() const { return scopes_.size() > 1; }
  /// The step index (i32[]) of the innermost loop. Throws ErrorKind::input outside a loop.
  Value step_index(Where where);

  // --- remarks: on code that is valid but may not be intended ---

  void remark(Where where, std::string text);
  /// Records that the last assignable handle of a state is gone: its value was moved to `taker`.
  void note_dropped(const std::shared_ptr<StateCell>& cell, const std::string& taker) noexcept;
  /// The remarks so far, including those on registers of this trace that nothing assigns.
  std::vector<Remark> remarks() const;

  // --- random ---

  /// A fresh key (i64[]): from the model's seed and step, the number of keys requested before in
  /// this graph and, in loops, the step indices.
  Value random_key();

  /// Ends the graph: sets its results and the next value of every assigned state. `inputs` become
  /// its first inputs, in this order.
  GraphPtr finish(const Values& results, const Values& inputs);

 private:
  /// Value::trace of its values; never 0.
  uint32_t value_number() const;
  Value read(size_t scope, const std::shared_ptr<StateCell>& cell, Where where);
  Value index_of(Scope& scope);
  Value root_key();

  std::function<std::shared_ptr<StateCell>(StateCell)> declare_;
  int64_t model_ = 0;
  std::string model_name_;
  Mode mode_;
  int64_t id_;
  std::unique_ptr<Graph> graph_;
  std::vector<std::unique_ptr<Graph>> bodies_;
  std::deque<Scope> scopes_;
  std::unordered_map<const Node*, std::shared_ptr<StateCell>> new_values_;
  std::vector<InputBound> bounds_;
  std::vector<Remark> remarks_;
  /// The registers of this trace, and whether each is assigned or dropped.
  std::vector<std::pair<std::shared_ptr<StateCell>, bool>> registers_;
  int keys_ = 0;
  Value root_key_;
};

/// The states that every model has once it draws random numbers in training: `random.seed`, and
/// `random.step`, which counts the runs of graphs that draw.
std::shared_ptr<StateCell> random_seed_cell();
std::shared_ptr<StateCell> random_step_cell();

}  // namespace graphc::core
