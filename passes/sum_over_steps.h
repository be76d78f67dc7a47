// SPDX-License-Identifier: Apache-2.0
// The sum over all steps of a value computed in each step: one product, sum or scatter instead of
// an accumulator in the loop.
#pragma once

#include <functional>
#include <optional>

#include "ir/graph.h"
#include "passes/batch.h"
#include "passes/region.h"

namespace graphc::core {

/// Says something of a value of a body: whether it differs from step to step.
using Moves = std::function<bool(Value)>;

/// The values of the body that must be stacked over all steps to form the sum of `term`: the
/// operands of the products, sums and scatters that `term` is a linear combination of. Values that
/// `is_known` says need nothing. Empty if `term` is no such combination.
std::optional<Values> operands_of_sum(Value term, const Moves& moves, const Moves& is_known);

/// The sum; `operands_of_sum` must have succeeded, and its values must be set or computable in
/// `batch`. `known` has the sums of values that were known.
Value sum_over_steps(Value term, const Moves& moves, Batch& batch, Graph& to, int64_t steps,
                     const ValueMap& known);

/// The terms added to a carry in each step, if its next is itself plus something and nothing else
/// reads it; for scatters onto the carry, the results of the scatter nodes. Empty for other
/// carries. `uses` counts the uses of each value of the body, `users` has the live users of each
/// node.
std::optional<Values> terms_added(Value carry, Value next,
                                  const std::vector<std::vector<int>>& uses,
                                  const std::vector<std::vector<const Node*>>& users);

}  // namespace graphc::core
