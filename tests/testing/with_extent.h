// SPDX-License-Identifier: Apache-2.0
// The same graph at other extents: for shrinking graphs, and for going through the edges of ops.
#pragma once

#include <set>

#include "ir/graph.h"

namespace graphc::core::testing {

/// The extents that occur in the types of the graph and of its regions.
std::set<int64_t> extents_of(const Graph& graph);

/// A copy of the graph in which every extent `from` is `to`: in the types of inputs, in shapes and
/// counts among attributes, in regions. Slices are cut off at the end of their operand, constant
/// indices are kept below `to`, and what is reshaped to one axis still is. Throws ErrorKind::input
/// where an op does not take what results. `multiples`: an extent of m times `from`, m up to 4,
/// becomes m times `to`.
GraphPtr with_extent(const Graph& graph, int64_t from, int64_t to, bool multiples = false);

}  // namespace graphc::core::testing
