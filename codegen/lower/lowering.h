// SPDX-License-Identifier: Apache-2.0
// How lower() of codegen/plan/plan.h goes about it: every value gets a view, every kernel becomes
// records. Internal to codegen/lower/lower.cpp and codegen/lower/scan.cpp.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/lower/history.h"
#include "codegen/lower/rows.h"
#include "codegen/plan/plan.h"
#include "ir/graph.h"
#include "ir/scan.h"

namespace graphc {

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

/// Lowers one graph of kernels to a plan; used once.
class Lowering {
 public:
  /// `graph` must outlive the lowering.
  Lowering(const Graph& graph, const VectorShape& vectors);

  /// The plan, without offsets. Throws as lower() does.
  Plan run();

 private:
  // --- buffers ---

  int add_buffer(const std::string& name, Place place, int index, int64_t bytes);
  void bind(ViewMap& views, Value value, Place place, int index);
  View temporary(const Type& type, const std::string& name);
  /// A constant that is a list, in a buffer of its own.
  View constant_data(const Node& node);
  /// The index of a program in the plan; equal programs share one.
  int add_program(NestProgram program);
  /// Appends a record to the phases or to the loop being lowered.
  void add(const std::string& family, decltype(Record::call) call);
  void copy(const View& from, const View& to, const std::string& name);
  void copy_unless_there(const View& from, const View& to, const std::string& name);
  /// Where a result of a kernel goes: where it is wanted in the end, or a new buffer.
  View destination(Value value, const ViewMap& wanted);
  /// The view, or a copy of it that is contiguous.
  View straight(const View& view, const std::string& name);

  // --- histories: codegen/lower/history.h ---

  /// Notes which emitted values of the graph get a slot more.
  void find_histories(const Graph& graph);
  /// If the kernel forms a shifted history whose slot was made: writes the slot, and sets the view.
  bool lower_history(const Node& kernel, ViewMap& views, const ViewMap& wanted);

  /// All `next` at once: old values of states that are still needed are set aside first.
  void assign_states(ViewMap& views);

  // --- nodes ---

  void lower_nodes(const Graph& graph, ViewMap& views, ViewMap& wanted);
  void lower_node(const Node& node, ViewMap& views, ViewMap& wanted);
  View view_or_copy(const Node& node, int result, const View& operand);
  /// A constant or iota that stands by itself: as a kernel of one node.
  void fill(const Node& node, ViewMap& views, const ViewMap& wanted);
  void lower_body(const Graph& body, std::vector<View> inputs, std::vector<View> results,
                  const std::string& name, const std::string& family);
  void lower_kernel(const Node& node, ViewMap& views, ViewMap& wanted);
  void lower_concat(const Node& node, const std::vector<View>& inputs, const View& to,
                    const std::string& name);
  void lower_table(const Node& node, const Node& op, const std::vector<View>& inputs,
                   const std::vector<View>& results);

  // --- products of batches: codegen/lower/batch.cpp ---

  /// A kernel of one batched product (passes/row_program.h), whose operands are inputs of the
  /// kernel's body.
  void lower_batched_product(const Node& product, const std::vector<View>& inputs,
                             const View& result, const std::string& name);
  /// `body` on every matrix of operands and result: a loop for each axis before the last two.
  void lower_batch(const Graph& body, std::vector<View> operands, const View& result,
                   const std::string& name);

  // --- loops: codegen/lower/scan.cpp ---

  /// Views of a body's inputs and results for the scan, and what they leave behind.
  struct ScanViews {
    std::vector<View> inputs, results;  // of the body
    std::vector<View> emitted, final;   // of the node
    std::vector<Carry> carries;         // of the loop, but for those that read their history
  };

  /// `depth` and `id` are those of the loop to be.
  ScanViews bind_scan(const Scan& scan, const std::vector<View>& operands, const Node& node,
                      const ViewMap& wanted, int depth, int id);
  /// A carry whose next value is emitted: each step finds it in the stack of what was emitted.
  void bind_history(const Scan& scan, const View& initial, int depth, const View& emit_step,
                    const View& emitted, ScanViews& bound);
  /// Any other carry.
  void bind_carry(const Scan& scan, size_t index, const View& initial, int id, ScanViews& bound);
  void publish(const Scan& scan, const ScanViews& bound, const Node& node, ViewMap& views);
  void lower_loop(const Node& node, ViewMap& views, ViewMap& wanted);
  void lower_recurrent(const Node& node, const Node& scan_node, const std::vector<View>& inputs,
                       ViewMap& views, ViewMap& wanted);
  /// Records that put the matrices of `calls` into panels; the calls then read those.
  void make_panels(std::vector<NestCall>& calls);

  const Graph& graph_;
  const VectorShape vectors_;
  Plan plan_;
  RowBinding binding_;
  std::vector<Record>* records_ = nullptr;                               // where add() appends
  std::map<std::string, int> program_index_;                             // by text
  std::map<std::pair<const Node*, int>, ShiftedHistory> history_slots_;  // values with a slot more
  int depth_ = 0;   // of the loop being lowered
  int scope_ = -1;  // its id
  int loops_ = 0;   // ids given so far
};

}  // namespace graphc
