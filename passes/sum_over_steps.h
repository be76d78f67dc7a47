// SPDX-License-Identifier: Apache-2.0
// The sum over all steps of a value that is computed in every step: one product, one sum or one
// scatter instead of an accumulator in the loop.
#pragma once

#include <functional>
#include <optional>

#include "ir/graph.h"
#include "passes/batch.h"

namespace graphc::core {

/// Whether a value of a body differs from step to step.
using Moves = std::function<bool(Value)>;

/// The values of the body whose steps must be at hand, stacked, to form the sum of `term`: the
/// operands of products, sums and scatters that `term` is a linear combination of. Nothing when it
/// is not one.
std::optional<Values> operands_of_sum(Value term, const Moves& moves);

/// The sum; `operands_of_sum` must have been found, and be set or computable in `batch`.
Value sum_over_steps(Value term, const Moves& moves, Batch& batch, Graph& to, int64_t steps);

/// What is added to a carry in each step when its next is itself plus something, and nothing else
/// reads it: the terms of the sum, and for scatters onto the carry the scatter nodes' results.
/// Nothing for other carries. `uses` counts the uses of each value of the body, `users` has the
/// live nodes that use each node.
std::optional<Values> terms_added(Value carry, Value next,
                                  const std::vector<std::vector<int>>& uses,
                                  const std::vector<std::vector<const Node*>>& users);

}  // namespace graphc::core
