// SPDX-License-Identifier: Apache-2.0
// Random graphs made of confusions: few nodes, in which many values could be taken for each other.
//
// A graph has a handful of extents, so that most of its values have one of a few types, and a move
// takes what is there rather than something new: a state read beside its next value, a carry that
// becomes another, two matrices that are parts of one, a table that is its own rows, the history of
// a loop behind two first steps, nothing where something was expected. Which kinds of moves a graph
// prefers is drawn with it.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

struct ConfusedOptions {
  bool real = false;      ///< with elementary functions; otherwise of whole numbers
  bool gradient = false;  ///< the derivative of a sum by leaves is among its results
};

/// A graph with states, loops in loops, tables, integers and empty values; the same for the same
/// arguments. Of whole numbers: for inputs and states that are whole numbers in [-4, 4] every f32
/// in it and every partial sum is a whole number below 2^22 (or half of one), so that results are
/// exact in any order. Derivatives are too unless they grow beyond that or share a tie, and so is a
/// second call, whose states are at most 64: where f32 and f64 agree about them.
GraphPtr confused_graph(unsigned seed, const ConfusedOptions& options);

}  // namespace graphc::core::testing
