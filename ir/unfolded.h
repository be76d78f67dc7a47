// SPDX-License-Identifier: Apache-2.0
// How large a graph is when its regions are written out at every use. In a file regions that use
// each other twice need a few lines for each doubling, while passes, code and drawings go through
// every use.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace graphc::core {

/// Copies of nodes that sharing regions may save, at most.
inline constexpr int64_t kMaxSharedNodes = 1'000'000;

/// Throws ErrorKind::input when the graph with every region written out at each of its uses has
/// more than kMaxSharedNodes nodes beyond those it is made of. Looks at each region once.
void check_unfolded(const Graph& graph);

}  // namespace graphc::core
