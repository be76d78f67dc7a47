// SPDX-License-Identifier: Apache-2.0
// Random recurrent cells whose steps divide and merge axes, as training graphs.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

/// A loop over a cell drawn from `seed`. Its states are [batch, heads * units], [batch, heads,
/// units] or [batch * heads, units]; two of them may lie side by side along an axis of their own.
/// Gates come from a stream, a product with one matrix a head or one for all heads, and a
/// parameter. Each has gates, heads and units in an order of its own, side by side or as axes. The
/// step brings them into one order and takes the gates apart by slices or by a split. It may divide
/// by a norm or take a softmax of each head, and may have a mask. Some cells also multiply what has
/// all heads side by side, or take single elements of it, so that it cannot be divided. The graph
/// is the training_graph() of a loop (random_cell.h), whose inputs random_cell_inputs() draws.
GraphPtr random_divided_cell(unsigned seed);

/// Whether the step of this cell surely has an order of axes once they are divided: it has a
/// product, but none of several heads at once, takes no single elements of a state, reads a stream
/// in one piece, and has more than one unit and at most eight gates. Other cells may be divided
/// too.
bool is_surely_divisible(unsigned seed);
/// Whether it surely has none: one product has a matrix a head, another one all heads at once.
bool is_surely_whole(unsigned seed);

}  // namespace graphc::core::testing
