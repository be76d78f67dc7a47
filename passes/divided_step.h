// SPDX-License-Identifier: Apache-2.0
// Splits a step of a differentiated loop in two. Everything that depends on a cotangent is
// backward. Of the rest, the cheapest set of values in bytes is saved; the backward step recomputes
// what it needs from them, but never a product or a reduction. A saved carry is the history of its
// `next`, shifted by one step.
//
// Values that together are as large as a stream last read by the loop are saved side by side: an
// LSTM's gates, where its pre-activations were. They can then share its storage
// (codegen/plan/sharing.h), and the backward step recomputes no activation.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "passes/region.h"

namespace graphc::core {

/// A forward and backward step in one graph, the *joint*. Inputs: those of the loop's body
/// (streams, carries and captures), followed by the cotangents. Results: the next values of carries
/// and the emits, followed by the gradients.
struct JointStep {
  GraphPtr graph;
  size_t streams = 0, carries = 0, inputs = 0, emits = 0;
  std::vector<bool> overwritten;  ///< by stream: storage is free after the loop
};

/// The two steps that a joint is split into, and the values passed between them.
class DividedStep {
 public:
  explicit DividedStep(JointStep joint);

  /// The joint; concatenations of saved values may have been added.
  const Graph& graph() const { return *joint_.graph; }
  Values results(size_t first, size_t count) const;
  Values gradients() const;
  Values cotangents() const;

  /// The values that the backward step reads.
  const Values& saved() const { return saved_; }
  /// The values that the forward step emits, beginning with its original emits, duplicates
  /// included.
  const Values& emitted() const { return emitted_; }
  /// The first index of a value among them.
  size_t emitted_index(Value value) const { return emitted_index_.at(key_of(value)); }
  /// The value to emit so that `value` can be read later: itself, or the `next` of a carry.
  Value source_of(Value value) const;

  /// The index of the input that it is, or the number of inputs.
  size_t input(Value value) const { return inputs_.index(value); }
  bool is_carry(Value value) const;
  bool is_capture(Value value) const;

 private:
  /// Chooses the saved and emitted values.
  void cut();
  /// The cost of saving a value (cut.h): 0 if the backward step has it anyway.
  int64_t price(Value value) const;
  struct Alike;
  std::vector<Alike> saved_alike() const;
  /// Saved values, grouped so that each group has the size of a stream that may be overwritten.
  std::vector<Values> groups() const;
  void put_side_by_side(const std::vector<Values>& groups);
  /// For each node needed by the forward results, whether the backward step recomputes it from the
  /// values of groups.
  std::vector<bool> computed_again(const std::vector<Values>& groups) const;
  std::vector<bool> forward() const { return needed_for(graph(), forward_results()); }
  Values forward_results() const { return results(0, joint_.carries + joint_.emits); }

  void emit(Value value);
  bool is_emitted(Value value) const { return emitted_index_.contains(key_of(value)); }
  static std::pair<int, int> key_of(Value value) { return {value.node->id, value.index}; }
  void set_emitted();

  JointStep joint_;
  ValueSet inputs_;
  Values saved_, emitted_;
  std::map<std::pair<int, int>, size_t> emitted_index_;
};

}  // namespace graphc::core
