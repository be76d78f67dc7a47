// SPDX-License-Identifier: Apache-2.0
// Random recurrent cells whose products have a matrix for each head, as training graphs.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

/// A loop over a cell drawn from `seed`, of vectors [batch, heads, units], or [heads, batch,
/// units]. A step multiplies states by one matrix a head, possibly others by one matrix for all,
/// transposes and reshapes for it as einsum() does, cuts gates, may sum along units and carry a
/// number a row. A mask may hold states: a stream,
/// or computed from lengths or from a carried number of each row of the batch. There may be a
/// layer of the batch, without heads, beside it. Some cells have one
/// head, or one row. It is the training_graph() of a loop (random_cell.h), whose inputs
/// random_cell_inputs() draws.
GraphPtr random_head_cell(unsigned seed);

}  // namespace graphc::core::testing
