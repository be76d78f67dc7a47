// SPDX-License-Identifier: Apache-2.0
// Plans walked without code: who wrote each byte stands in the place of the byte.
#pragma once

#include <string>

#include "codegen/plan/plan.h"

namespace graphc::testing {

/// Walks a plan in two memories at once: as it was lowered, every buffer a place of its own, and as
/// it was planned, with results in the place of operands and buffers sharing the arena. Every
/// thread of `threads` does its share of every call, element by element, in the order of the text.
/// Returns the first thing that is wrong, or nothing:
/// - a read that finds the bytes of another write in the planned memory than in the lowered one;
/// - a read of bytes that nobody has written;
/// - a thread that writes what another reads or writes in the same phase;
/// - a result that is not as it was lowered, when all is done.
/// It knows no indices: a gather may read any row, a scatter writes every row it owns.
std::string replay(const Plan& lowered, const Plan& planned, const VectorShape& vectors,
                   int threads);

/// Lowers and plans a graph of kernels, and replays it.
std::string replay(const Graph& kernels, const VectorShape& vectors, int threads);

}  // namespace graphc::testing
