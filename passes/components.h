// SPDX-License-Identifier: Apache-2.0
// The strongly connected components of a directed graph.
#pragma once

#include <vector>

namespace graphc::core {

/// The number of each vertex's component. Components are numbered in topological order, successors
/// first, and otherwise in the order in which `roots` reach them; vertices that no root reaches get
/// -1. Linear in vertices and edges, with an explicit stack.
std::vector<int> components(const std::vector<std::vector<int>>& edges,
                            const std::vector<int>& roots);

}  // namespace graphc::core
