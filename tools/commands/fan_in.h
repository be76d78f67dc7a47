// SPDX-License-Identifier: Apache-2.0
// Finds the weights among the inputs and states of a graph: factors of products that do not change
// between steps.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace graphc::core::commands {

/// For each input of the graph, then each of its states: if it is a weight, the number of terms of
/// the longest product sums with it; otherwise 0. Of two factors, one that comes from a state is
/// the weight, otherwise one that comes from a whole input, otherwise the second; values that a
/// loop slices or carries are not weights. Drawn from +-1/sqrt of that number, weights neither
/// saturate what follows nor make a loop chaotic.
std::vector<int64_t> fan_ins(const Graph& graph);

}  // namespace graphc::core::commands
