// SPDX-License-Identifier: Apache-2.0
// The size of a graph with its regions expanded at every use. A small file can describe an
// exponentially large graph by regions that use each other twice, while passes, code generation and
// drawings visit every use.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace graphc::core {

/// The maximum number of node copies that sharing regions may save.
inline constexpr int64_t kMaxSharedNodes = 1'000'000;

/// Throws ErrorKind::input if the graph with every region expanded at each use has more than
/// kMaxSharedNodes nodes beyond its own. Visits each region once.
void check_unfolded(const Graph& graph);

}  // namespace graphc::core
