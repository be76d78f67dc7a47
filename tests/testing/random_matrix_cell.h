// SPDX-License-Identifier: Apache-2.0
// Random recurrent cells whose rows carry a matrix, as training graphs.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"

namespace graphc::core::testing {

/// A loop over a cell drawn from `seed`: a carried matrix a row, possibly a vector and a number;
/// rows are [batch] or [batch, heads]. A step reads the matrix by sums over either axis, adds outer
/// products, decays it by a number, along an axis or an element, and may multiply a vector by one
/// matrix a head. A mask, written in one of five ways, may hold states. Results: the loss and its
/// derivative by every input that is a float and no mask.
GraphPtr random_matrix_cell(unsigned seed);

/// Inputs for it: f64 but exact in f32; masks of 0 and 1, lengths from 0 to one more than the
/// steps.
std::vector<Literal> random_matrix_cell_inputs(const Graph& graph, unsigned seed);

}  // namespace graphc::core::testing
