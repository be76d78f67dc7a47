// SPDX-License-Identifier: Apache-2.0
// Changes extents of a graph: for shrinking graphs, and for testing edge cases of ops.
#pragma once

#include <set>

#include "ir/graph.h"

namespace graphc::core::testing {

/// The extents that occur in the types of the graph and of its regions.
std::set<int64_t> extents_of(const Graph& graph);

/// A copy of the graph in which every extent `from` becomes `to`: in types of inputs, in shapes and
/// counts among attributes, in regions. Slices are clamped to their operands, constant indices are
/// kept below `to`, and reshapes to one axis stay valid. With `multiples`, extents of m times
/// `from`, m up to 4, become m times `to`. Throws ErrorKind::input if an op rejects the result.
GraphPtr with_extent(const Graph& graph, int64_t from, int64_t to, bool multiples = false);

}  // namespace graphc::core::testing
