// SPDX-License-Identifier: Apache-2.0
// Batches a loop's steps: rewrites nodes of its body for arrays that stack the values of all steps.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// The counterpart of a body value outside the loop: invariant, or all steps stacked along a new
/// first axis.
struct Batched {
  Value value;
  bool stacked = false;
};

/// Whether a node remains a single op if the operands marked in `stacked` hold all steps.
bool can_batch(const Node& node, const std::vector<bool>& stacked);

/// Computes values of a body for all steps at once, in another graph.
class Batch {
 public:
  Batch(const Graph& body, Graph& to, int64_t steps)
      : body_(body), to_(to), steps_(steps), known_(body.nodes().size()) {}

  void set(Value inner, Batched outer);
  /// Whether a counterpart is set or has been added.
  bool has(Value inner) const;
  /// The counterpart of a body value; adds the nodes it needs, down to values that are set.
  Batched get(Value inner);
  /// The same, always stacked.
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

/// The values of a carry before each step, stacked: its initial value and the `next` of all steps
/// but the last. `emitted` is the stacked `next`, of at least one step.
Value carry_history(Value initial, Value emitted, bool reverse);

}  // namespace graphc::core
