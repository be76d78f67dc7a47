// SPDX-License-Identifier: Apache-2.0
// Random graphs of small whole numbers: whatever order a target adds in, the answer is the same.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

/// A graph of about `nodes` applications over f32, i32 and bool, with a scan if `loop`; the same
/// for the same arguments. For inputs that are whole numbers in [-4, 4] every f32 in it, every
/// partial sum and every partial product is a whole number below 2^22 (or half of one), so results
/// are exact in f32 and in f64, in any order.
GraphPtr exact_graph(unsigned seed, int nodes, bool loop);

/// The largest input of an exact graph.
inline constexpr int kExactInput = 4;

}  // namespace graphc::core::testing
