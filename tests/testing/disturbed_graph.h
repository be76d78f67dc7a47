// SPDX-License-Identifier: Apache-2.0
// Measures how much a graph amplifies rounding, for cases in which a bound is too pessimistic:
// cancelling errors and cancelling numbers.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

/// The graph (without `grad`, states or kernels) with every input and every f32 value computed by
/// arithmetic, in loops too, multiplied by 1 + u sin(angle): u is the unit roundoff; the angle
/// differs for each value and each element, and `turn` radians are added to all. To be evaluated in
/// f64: the distance from the original results estimates the effect of one rounding per value. Two
/// evaluations a quarter turn apart leave no element undisturbed.
GraphPtr disturbed_graph(const Graph& graph, double turn);

}  // namespace graphc::core::testing
