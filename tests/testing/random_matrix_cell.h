// SPDX-License-Identifier: Apache-2.0
// Random recurrent cells whose rows carry a matrix, as training graphs.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

/// A loop over a cell drawn from `seed`: a carried matrix a row, possibly a vector and a number;
/// rows are [batch] or [batch, heads]. A step reads the matrix by sums over either axis, adds outer
/// products, decays it by a number, along an axis or an element, and may multiply a vector by one
/// matrix a head. A mask, written in one of five ways, may hold states. It is the training_graph()
/// of a loop (random_cell.h), whose inputs random_cell_inputs() draws.
GraphPtr random_matrix_cell(unsigned seed);

}  // namespace graphc::core::testing
