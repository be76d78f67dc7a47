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

/// A loop over a cell, whose inputs are streams, carries and captures.
struct CellLoop {
  GraphPtr body;
  size_t streams = 0, carries = 0;
  int64_t steps = 0;
  bool reverse = false;
};

/// The training graph of the loop. An i32 stream `t` is counted; all others are inputs, named like
/// the body's. Results: the loss, which depends on all results of the loop, and its derivative by
/// every input that is a float and not named `mask`.
GraphPtr training_graph(const CellLoop& loop);

/// Inputs for a training graph of cells: f64 but exact in f32; `mask` of 0 and 1; `lengths` from 0
/// to one more than the steps of the stream `k`.
std::vector<Literal> random_cell_inputs(const Graph& graph, unsigned seed);

}  // namespace graphc::core::testing
