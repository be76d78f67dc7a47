// SPDX-License-Identifier: Apache-2.0
// Matrices whose rows begin at multiples of some bytes, as products read them fastest.
//
// A GPU copies rows into shared memory 4, 8 or 16 bytes at a time, and a library's fast kernels
// want rows at multiples of 16 bytes. Rows of 33,279 numbers in bf16 begin anywhere. So a computed
// factor of a large product has space between its rows, which nobody reads.
#pragma once

#include "ir/graph.h"

namespace graphc::core {

class LowerContext;

/// Notes which values of the graph have such rows (LowerContext::pitched): bf16 results of kernels
/// that large products read (Machine::pitched_from), if all that reads them can read rows with
/// space between them. None if the machine has no pitch.
void find_pitched(LowerContext& context, const Graph& graph);

}  // namespace graphc::core
