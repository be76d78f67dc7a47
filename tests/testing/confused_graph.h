// SPDX-License-Identifier: Apache-2.0
// Random graphs designed to confuse: few nodes, in which many values could be mistaken for others.
//
// A graph uses only a handful of extents, so that most values have one of a few types, and a move
// prefers existing values over new ones: a state read next to its next value, a carry that becomes
// another, two matrices that are parts of one, a table that is its own rows, the history of a loop
// after two first steps, empty values in unexpected places. The mix of moves is drawn per graph.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

struct ConfusedOptions {
  bool real = false;      ///< with elementary functions; otherwise only integers
  bool gradient = false;  ///< results include the derivative of a sum with respect to leaves
};

/// A graph with states, nested loops, tables, integers and empty values, determined by the
/// arguments. Without `real`, and for inputs and states that are integers in [-4, 4], every f32
/// value and every partial sum is an integer below 2^22 (or half of one), so that results are exact
/// in any order. So are derivatives, unless they exceed that or involve a tie, and so is a second
/// call, whose states are at most 64: where f32 and f64 agree about them.
GraphPtr confused_graph(unsigned seed, const ConfusedOptions& options);

}  // namespace graphc::core::testing
