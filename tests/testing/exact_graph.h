// SPDX-License-Identifier: Apache-2.0
// Random graphs over small integers: results are exact in whatever order a target adds.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

/// A graph with about `nodes` applications over f32, i32 and bool, with a scan if `loop`;
/// determined by the arguments. For inputs that are integers in [-4, 4], every f32 value, partial
/// sum and partial product is an integer below 2^22 (or half of one), so results are exact in f32
/// and in f64, in any order.
GraphPtr exact_graph(unsigned seed, int nodes, bool loop);

/// The largest input of an exact graph.
inline constexpr int kExactInput = 4;

}  // namespace graphc::core::testing
