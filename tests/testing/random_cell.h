// SPDX-License-Identifier: Apache-2.0
// Random recurrent cells, as training graphs.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"

namespace graphc::core::testing {

/// A loop over a cell drawn from `seed`: 1-3 carried states, 1-3 products, elementwise work,
/// possibly a sum along the row and a mask. Every state's next value depends on all states, so the
/// carries form one cycle. Results: the loss and its derivative by every input that is not a mask.
GraphPtr random_cell(unsigned seed);

/// Inputs for it: f64 but exact in f32; masks of 0 and 1.
std::vector<Literal> random_cell_inputs(const Graph& graph, unsigned seed);

}  // namespace graphc::core::testing
