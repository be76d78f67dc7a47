// SPDX-License-Identifier: Apache-2.0
// Which inputs and states of a graph are weights: factors of products that stay the same from step
// to step.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace graphc::core::commands {

/// For each input of the graph, then each of its states: over how many terms the longest product
/// sums of which it is the weight; 0 for what is no weight. Of two factors the one that comes from
/// a state is the weight, else the one that comes from an input as a whole, else the second; what a
/// loop slices or carries is none. Drawn from +-1/sqrt of that number, weights neither saturate
/// what follows nor make a loop chaotic.
std::vector<int64_t> fan_ins(const Graph& graph);

}  // namespace graphc::core::commands
