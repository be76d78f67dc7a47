// SPDX-License-Identifier: Apache-2.0
// A step of a loop that is differentiated, cut in two: what depends on a cotangent is backward; of
// the rest, the cheapest set of values in bytes is saved, and the backward step computes what it
// wants from them, but no product and no reduction twice. A saved carry is the history of its
// `next`, shifted by one step.
//
// Values that together are as large as a stream whose last reader the loop is are saved side by
// side: an LSTM's gates, where the sums before its activations came in. They can lie in its
// place then (codegen/plan/sharing.h), and the backward step has no activation to compute again.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "passes/region.h"

namespace graphc::core {

/// A step forwards and backwards in one graph, the *joint*. Inputs: those of the loop's body, which
/// are streams, carries and captures, and behind them the cotangents. Results: the next of carries,
/// emits, and behind them the gradients.
struct JointStep {
  GraphPtr graph;
  size_t streams = 0, carries = 0, inputs = 0, emits = 0;
  std::vector<bool> overwritten;  ///< of each stream: whether its storage may be, after the loop
};

/// The two steps that a joint is cut into, and what goes from one to the other.
class DividedStep {
 public:
  explicit DividedStep(JointStep joint);

  /// The joint, to which concatenations of saved values may have been added.
  const Graph& graph() const { return *joint_.graph; }
  Values results(size_t first, size_t count) const;
  Values gradients() const;
  Values cotangents() const;

  /// What the backward step reads.
  const Values& saved() const { return saved_; }
  /// What the forward step emits: first what it emits anyway, the same value twice if it does.
  const Values& emitted() const { return emitted_; }
  /// The first place of a value among those.
  size_t emitted_index(Value value) const { return emitted_index_.at(key_of(value)); }
  /// The value to emit so that `value` can be read later: itself, or the `next` of a carry.
  Value source_of(Value value) const;

  /// Which of the inputs it is, or more than there are.
  size_t input(Value value) const { return inputs_.index(value); }
  bool is_carry(Value value) const;
  bool is_capture(Value value) const;

 private:
  /// Chooses what is saved and emitted.
  void cut();
  /// What saving a value costs (cut.h): nothing if the backward step can have it anyway.
  int64_t price(Value value) const;
  struct Alike;
  std::vector<Alike> saved_alike() const;
  /// Saved values of which each group has the size of a stream that may be overwritten.
  std::vector<Values> groups() const;
  void put_side_by_side(const std::vector<Values>& groups);
  /// For each node that the forward results need: whether the backward step computes it again from
  /// the values of groups.
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
