// SPDX-License-Identifier: Apache-2.0
// How much a graph makes of roundings, measured where a bound knows too little: errors that cancel,
// and numbers that cancel.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

/// The graph (no `grad`, states or kernels) with every f32 value that arithmetic makes, in loops
/// too, and every input times 1 + u sin(angle): u is the unit roundoff, and the angle another one
/// for each value and each of its elements, `turn` radians farther for all. To be evaluated in f64:
/// the distance from the results of the graph itself is what one rounding of each value may be
/// worth. Two evaluations a quarter of a turn apart leave no element undisturbed.
GraphPtr disturbed_graph(const Graph& graph, double turn);

}  // namespace graphc::core::testing
