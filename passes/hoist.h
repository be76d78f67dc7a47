// SPDX-License-Identifier: Apache-2.0
// The parts of hoist: each takes a scan (its operands already in `to`) and returns the values that
// replace its results, or nothing if there is nothing to move.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace graphc::core {

/// Moves computations that are the same in every step out of the loop: those that depend on
/// captures, and elementary functions of constants.
std::optional<Values> hoist_invariants(const Node& node, const Values& operands, Graph& to);
/// Whether a scan is in the body of another one, such as a loop over blocks of steps.
enum class Around : uint8_t { nothing, loop };

/// Computes products, tables and reductions that depend on no carry for all steps before the loop,
/// with the elementwise work that follows them, cut where the fewest bytes cross. Of a loop whose
/// rows carry a matrix, and which no loop is around, also elementary functions of one number of
/// each row: inside another loop they would join the rows that it keeps apart.
std::optional<Values> hoist_before(const Node& node, const Values& operands, Graph& to,
                                   Around around);
/// Divides sums of matrices over rows and within them, so that the sum over rows can leave the
/// loop.
std::optional<Values> divide_row_sums(const Node& node, const Values& operands, Graph& to);
/// Computes after the loop what no carry needs: heavy work on the way to emits, and carries that
/// only accumulate products, sums over rows and scattered rows.
std::optional<Values> hoist_after(const Node& node, const Values& operands, Graph& to);
/// Splits the loop into one loop per cycle of carries that contains a product, in order.
std::optional<Values> split_cycles(const Node& node, const Values& operands, Graph& to);

}  // namespace graphc::core
