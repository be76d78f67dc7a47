// SPDX-License-Identifier: Apache-2.0
// The parts of hoist: each takes a scan (its operands already in `to`) and gives the values that
// replace its results, or nothing when there is nothing to move.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace graphc::core {

/// Moves what depends on captured values only out of the loop.
std::optional<Values> hoist_invariants(const Node& node, const Values& operands, Graph& to);
/// Computes products, tables and reductions that depend on no carry for all steps before the loop,
/// with the elementwise work behind them, cut where fewest bytes cross.
std::optional<Values> hoist_before(const Node& node, const Values& operands, Graph& to);
/// Computes what no carry needs after the loop: heavy work on the way to emits, and carries that
/// only add up products, sums over rows and scattered rows.
std::optional<Values> hoist_after(const Node& node, const Values& operands, Graph& to);
/// Makes one loop for each cycle of carries that has a product on it, in order.
std::optional<Values> split_cycles(const Node& node, const Values& operands, Graph& to);

}  // namespace graphc::core
