// SPDX-License-Identifier: Apache-2.0
// Random graphs: what nobody thought of, for comparing targets and passes with the evaluator.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

struct RandomGraphOptions {
  int nodes = 12;         ///< about as many applications, besides those of loops
  bool loop = false;      ///< a scan among them
  bool gradient = false;  ///< results are a number and its derivative by every input of floats
};

/// A graph of f32 inputs, the same for the same seed and options. All values depend continuously on
/// the inputs, and stay within a few hundred for inputs in [-1, 1].
GraphPtr random_graph(unsigned seed, const RandomGraphOptions& options);

}  // namespace graphc::core::testing
