// SPDX-License-Identifier: Apache-2.0
// What the functions that lower a graph to a plan have in common: the plan so far, the machine, and
// where in loops they are. Internal to codegen/lower.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/lower/history.h"
#include "codegen/lower/rows.h"
#include "codegen/machine.h"
#include "codegen/plan/moves.h"
#include "codegen/step/plan.h"
#include "ir/graph.h"

namespace graphc::core {

class Kernel;

/// Values to views within one graph or loop body.
class ViewMap {
 public:
  void set(Value value, View view) { views_[{value.node, value.index}] = std::move(view); }
  const View& get(Value value) const { return views_.at({value.node, value.index}); }
  const View* find(Value value) const {
    const auto found = views_.find({value.node, value.index});
    return found == views_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::pair<const Node*, int>, View> views_;
};

/// What panels are made of, and their form: equal ones are made once.
struct PanelKey {
  Address from;
  MatrixStrides strides;
  PanelForm form;
  int64_t matrices = 1, from_matrix = 0;  ///< of PanelCall

  bool operator==(const PanelKey&) const = default;
};

using MadePanels = std::vector<std::pair<PanelKey, Address>>;

class LowerContext {
 public:
  /// The machine must outlive the context.
  LowerContext(std::string name, const Machine& machine);

  const Machine& machine() const { return machine_; }
  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }

  // --- buffers ---

  int add_buffer(const std::string& name, Place place, int index, int64_t bytes);
  /// A new buffer of the arena, that lives in the steps of the loop around.
  View temporary(const Type& type, const std::string& name);
  /// A new derived form of the states that these buffers are; `make` adds the records that write
  /// it.
  Address add_form(const std::string& name, int64_t bytes, const std::vector<int>& from,
                   const std::function<void(const Address&)>& make);
  /// Whether the graph writes a state, by its buffer.
  bool is_written(int buffer) const { return written_.contains(buffer); }
  void note_written(int buffer) { written_.insert(buffer); }
  /// Notes which values the live nodes, results and `next` of a graph use.
  void note_uses(const Graph& graph, const std::vector<bool>& live);
  /// Whether the graph that a value is of uses it; its uses were noted.
  bool is_used(Value value) const { return used_.contains({value.node, value.index}); }
  /// A constant that is a list, in a buffer of its own.
  View constant_data(const Node& node);
  /// Where a result of a kernel goes: where it is wanted in the end, or a new buffer. The values of
  /// steps may be spaced there, and those of steps whose rows are in groups (RowModel::groups) have
  /// the groups of a row side by side: then steps and rows of a group are one axis, of one stride,
  /// as products over all steps read them.
  View destination(Value value, const ViewMap& wanted, bool spaced = false, int groups = 0);

  // --- records ---

  /// Appends a record to the phases, or to the loop that is open.
  void add(std::optional<Family> family, decltype(Record::call) call);
  void add(std::optional<Family> family, Nest nest) { add(family, call_of(std::move(nest))); }
  /// The call of a nest, whose program the plan now has; equal programs are one.
  NestCall call_of(Nest nest);
  /// The right factor of one of its products is of this type from now on.
  void read_right_as(DType dtype, NestCall& call, size_t product);
  void copy(const View& from, const View& to, const std::string& name);
  void copy_unless_there(const View& from, const View& to, const std::string& name);
  /// The view, or a copy of it that is contiguous.
  View straight(const View& view, const std::string& name);
  /// The view, or a copy of it with the strides of `like`, of the same shape.
  View laid_out_like(const View& like, const View& view, const std::string& name);

  // --- loops ---

  /// A loop that is open: what is added goes into its body. Ends with close().
  struct OpenLoop {
    LoopCall call;
    int first_buffer = 0;  ///< the first one that is not older than the loop
    int depth = 0;
    std::vector<Record>* outer = nullptr;
    int outer_scope = -1;
    MadePanels panels;  ///< made before the loop, of matrices that its steps do not change
  };
  /// The id of the next loop, for one whose carries are made before it is opened.
  int new_loop_id() { return loops_++; }
  /// Opens a loop whose addresses count steps at the present depth; `loop` stays where it is until
  /// it is closed.
  void open(OpenLoop& loop);
  void close(OpenLoop& loop, std::optional<Family> family);
  int depth() const { return int(open_loops_.size()); }
  /// The outermost of the open loops whose steps all find the same at an address; null if there is
  /// none, or if it and those in it have one step only.
  OpenLoop* loop_that_keeps(const Address& address) const;
  /// Appends a record before an open loop, with the buffers that `make` adds.
  template <typename Make>
  void add_before(OpenLoop& loop, std::optional<Family> family, const Make& make) {
    in_scope(loop.outer_scope, [&] { loop.outer->push_back({family, make()}); });
  }
  /// Notes that a loop without phases of its own is at the present depth.
  void note_loop() { plan_.loop_depth = std::max(plan_.loop_depth, depth() + 1); }
  /// Makes buffers in the steps of loop `id` while `make` runs.
  template <typename Make>
  void in_scope(int id, const Make& make) {
    const int outer = std::exchange(scope_, id);
    make();
    scope_ = outer;
  }

  /// Emitted values that get a slot more, for their shifted history (codegen/lower/history.h).
  std::map<std::pair<const Node*, int>, ShiftedHistory> history_slots;
  /// Results of kernels whose rows begin at multiples of Machine::pitch (codegen/lower/pitch.h).
  std::set<std::pair<const Node*, int>> pitched;
  /// The derived forms that the plan has so far.
  MadePanels forms;
  /// The rows of the loop that is being lowered, if each has a matrix (passes/kernels/
  /// matrix_rows.h): the leading axes of its values, which nests keep apart. Else [].
  Shape matrix_rows;
  /// The graph, or the body, whose nodes are being lowered.
  const Graph* lowered = nullptr;
  /// Of Machine::lower_external: external calls that leave something for another one, by number,
  /// and operands of nodes in the order in which their function has them.
  std::map<const Node*, int> external_pairs;
  std::map<const Node*, Address> external_operands;
  /// The number of the next collective (codegen/lower/collectives.h).
  int64_t collectives = 0;

 private:
  /// The number of a program, which the plan now has; equal ones are one.
  int program_of(NestProgram program);
  /// Memory for a value of several steps. Steps at multiples of large powers of two would all lie
  /// in the same sets of the caches: a row that is gone through in all steps has space between
  /// them.
  View with_spaced_steps(const Type& type, const std::string& name);
  /// Memory for a matrix, or several, whose rows begin at multiples of Machine::pitch.
  View with_pitch(const Type& type, const std::string& name);
  /// The view with `matrix_rows` as its first axes and at least one more, if it has that many
  /// elements: units before them are dropped.
  View by_rows(View view) const;

  const Machine& machine_;
  Plan plan_;
  std::vector<Record>* records_;                // where add() appends
  std::map<std::string, int> program_index_;    // by text
  std::set<int> written_;                       // states
  std::set<std::pair<const Node*, int>> used_;  // values, of the graphs whose uses were noted
  std::vector<OpenLoop*> open_loops_;           // outermost first
  int scope_ = -1;                              // the id of the loop being lowered
  int loops_ = 0;                               // ids given so far
};

// --- what lowers what ---

/// The live nodes of a graph or loop body, in order; errors name the node's line.
void lower_nodes(LowerContext& context, const Graph& graph, ViewMap& views, ViewMap& wanted);
/// A scan outside kernels: its body's records, run for every step (lower/loops.cpp).
void lower_loop(LowerContext& context, const Node& node, ViewMap& views, ViewMap& wanted);
/// A scan in a recurrent kernel: one nest a stage, matrices in panels (lower/recurrent.cpp).
void lower_recurrent(LowerContext& context, const Kernel& kernel, const std::vector<View>& inputs,
                     ViewMap& views, ViewMap& wanted);
/// A body that has a row model: `known`, if it is the body of a kernel. Throws ErrorKind::input,
/// with the rule that the body breaks, if it has none.
void lower_body(LowerContext& context, const Graph& body, std::vector<View> inputs,
                std::vector<View> results, const std::string& name, Family family,
                const std::optional<RowModel>& known = std::nullopt);
/// A kernel of the family batched_gemm, whose operands are inputs of the kernel's body: one nest
/// with the axes of the batch around it.
void lower_batched_product(LowerContext& context, const Node& product,
                           const std::vector<View>& inputs, const View& result,
                           const std::string& name);
/// A kernel of one concatenation of its inputs.
void lower_concat(LowerContext& context, const Node& node, const std::vector<View>& inputs,
                  const View& to, const std::string& name);
/// A kernel of one op on rows by index.
void lower_table(LowerContext& context, const Node& kernel, const Node& op,
                 const std::vector<View>& inputs, const std::vector<View>& results);
/// Notes which emitted values of the graph get a slot more.
void find_histories(LowerContext& context, const Graph& graph);
/// If the kernel forms a shifted history whose slot was made: writes the slot, and sets the view.
bool lower_history(LowerContext& context, const Node& kernel, ViewMap& views,
                   const ViewMap& wanted);

}  // namespace graphc::core
