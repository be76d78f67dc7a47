// SPDX-License-Identifier: Apache-2.0
// The cycles of a directed graph: its strongly connected components.
#pragma once

#include <vector>

namespace graphc::core {

/// For each vertex the number of its component. A component comes after those that its vertices'
/// edges lead to, and in the order in which `roots` lead to them otherwise; vertices that no root
/// leads to get -1. In time linear in vertices and edges, on a stack of its own.
std::vector<int> components(const std::vector<std::vector<int>>& edges,
                            const std::vector<int>& roots);

}  // namespace graphc::core
