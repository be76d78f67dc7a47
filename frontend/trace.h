// SPDX-License-Identifier: Apache-2.0
// Trace: a graph while the user's function writes it. Users meet it only through what it does:
// where a node without operands goes, what a state's value is at this point, which key is next.
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

/// What a graph is for: layers such as dropout differ.
enum class Mode { evaluation, training };

/// A region under construction and the states seen in it.
struct Scope {
  /// A state in a region. `entry` is its value where the region begins: in a body an input that
  /// stands for `outer`, its value in the region around it.
  struct Seen {
    std::shared_ptr<StateCell> cell;
    Value outer, entry, current;
    bool assigned = false;
    Where assigned_at;  ///< the last time
  };

  Graph* graph = nullptr;
  std::deque<Seen> seen;
  Value index;  ///< the step index, once asked for

  /// The state here, or null before it was seen.
  Seen* find(const StateCell& cell);
  void add(Seen state);

  std::unordered_map<const StateCell*, size_t> places{};  ///< in `seen`; add() keeps it
};

/// What the elements of an input of integers may be: no less than 0, and no more than `most`.
struct InputBound {
  std::string input;
  int64_t most = 0;
  Where where;  ///< who wants it
};

class Trace {
 public:
  /// Begins a graph; it is current on this thread until the trace ends. Traces do not nest.
  Trace(std::string graph_name, Mode mode);
  ~Trace();
  Trace(const Trace&) = delete;

  /// The trace of this thread, or null.
  static Trace* current();
  /// The same; throws ErrorKind::input saying that `what` needs one.
  static Trace& require(std::string_view what, Where where);

  const std::string& name() const { return graph_->name(); }
  Mode mode() const { return mode_; }
  /// No other trace of the process has it.
  int64_t id() const { return id_; }
  /// The innermost region under construction.
  Graph& graph() { return *scopes_.back().graph; }
  Graph& root() { return *scopes_.front().graph; }
  /// The value as one of the innermost region. Throws ErrorKind::input, at the value's line, when
  /// it belongs to a loop that has ended.
  Value here(Value value, Where where = {});

  // --- states ---

  /// A state of the model: the one declared before under its name, or this one from now on. Throws
  /// ErrorKind::input when it is declared as another kind.
  std::shared_ptr<StateCell> declare(StateCell cell) { return declare_(std::move(cell)); }
  /// How states of the model are declared: set by the model that traces.
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
  /// The state's value before the graph has run: what a derivative is taken by.
  Value leaf(const std::shared_ptr<StateCell>& cell);
  /// The state, if the graph outside of loops has given it a value by now; else null.
  const Scope::Seen* assigned(const StateCell& cell);
  /// The values of parameters that were read after the graph had assigned them.
  const std::unordered_map<const Node*, std::shared_ptr<StateCell>>& new_values() const {
    return new_values_;
  }
  /// The states of the model that the graph uses, in the order of first use.
  std::vector<std::shared_ptr<StateCell>> states_of_model() const;
  /// Whether the graph gives a state of the model a value, the count of draws left out.
  bool writes_states() const;

  // --- inputs ---

  /// Lengths are at most `steps`: noted where they are an input of the graph as it came.
  void bound(Value lengths, int64_t steps, Where where);
  const std::vector<InputBound>& bounds() const { return bounds_; }

  // --- loops ---

  Scope& open(std::string name);
  /// Ends the innermost scope; its graph stays alive as long as the trace, so that a value that
  /// leaked out of a loop is found rather than followed.
  Scope close();
  /// The same for a body that is given up; in contrast to close() it needs no memory.
  void abandon() noexcept { scopes_.pop_back(); }
  bool in_loop() const { return scopes_.size() > 1; }
  /// The index (i32[]) of the step of the innermost loop. Throws ErrorKind::input outside a loop.
  Value step_index(Where where);

  // --- remarks: what is right and perhaps not meant ---

  void remark(Where where, std::string text);
  /// The last handle that could assign the state is gone: its value was moved to `taker`.
  void note_dropped(const std::shared_ptr<StateCell>& cell, const std::string& taker) noexcept;
  /// Those so far, and of the states that the trace has made those that nothing assigns.
  std::vector<Remark> remarks() const;

  // --- random ---

  /// A key (i64[]) nobody else gets: from the model's seed and step, the number of keys asked for
  /// before in this graph and, in loops, the step indices.
  Value random_key();

  /// Ends the graph: sets results and the next value of every assigned state. These of its inputs
  /// come first, in this order.
  GraphPtr finish(const Values& results, const Values& inputs);

 private:
  /// What Value::trace is of its values: never 0.
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
  /// The states that it has made, and whether they are assigned, or dropped.
  std::vector<std::pair<std::shared_ptr<StateCell>, bool>> registers_;
  int keys_ = 0;
  Value root_key_;
};

/// The states every model has once it draws random numbers while training: `random.seed`, and
/// `random.step`, which counts the runs of graphs that draw.
std::shared_ptr<StateCell> random_seed_cell();
std::shared_ptr<StateCell> random_step_cell();

}  // namespace graphc::core
