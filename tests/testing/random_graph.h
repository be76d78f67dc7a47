// SPDX-License-Identifier: Apache-2.0
// Random graphs, for comparing targets and passes with the evaluator on unforeseen cases.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

struct RandomGraphOptions {
  int nodes = 12;         ///< approximate number of applications outside of loops
  bool loop = false;      ///< include a scan
  bool gradient = false;  ///< results are a scalar and its derivative by every floating-point input
};

/// A graph with f32 inputs, determined by the seed and the options. All values depend continuously
/// on the inputs, and stay within a few hundred for inputs in [-1, 1].
GraphPtr random_graph(unsigned seed, const RandomGraphOptions& options);

}  // namespace graphc::core::testing
