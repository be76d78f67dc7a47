// SPDX-License-Identifier: Apache-2.0
// All steps at once: nodes of a loop's body written for arrays that hold a value of every step.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// What stands for a value of the body outside of the loop: the same at every step, or all steps
/// stacked along a new first axis.
struct Batched {
  Value value;
  bool stacked = false;
};

/// Whether a node is one op when the operands marked in `stacked` hold all steps.
bool can_batch(const Node& node, const std::vector<bool>& stacked);

/// Computes values of a body for all steps at once, in another graph.
class Batch {
 public:
  Batch(const Graph& body, Graph& to, int64_t steps)
      : body_(body), to_(to), steps_(steps), known_(body.nodes().size()) {}

  void set(Value inner, Batched outer);
  /// What stands for a value of the body; adds the nodes it needs, down to what is set.
  Batched get(Value inner);
  /// The same with all steps stacked, whether or not they differ.
  Value get_stacked(Value inner);

 private:
  Values add(const Node& node, const std::vector<Batched>& operands);
  Value aligned(const Batched& operand, int rank);
  Value repeated(const Batched& operand);

  const Graph& body_;
  Graph& to_;
  int64_t steps_;
  std::vector<std::vector<Batched>> known_;
};

/// What a carry held before each step, stacked: its initial value and the `next` of all steps but
/// the last. `emitted` is the stacked `next`, of at least one step.
Value carry_history(Value initial, Value emitted, bool reverse);

}  // namespace graphc::core
