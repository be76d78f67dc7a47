// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph go into one kernel.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/graph.h"
#include "passes/kernels/column_spaces.h"

namespace graphc::core {

/// Nodes that become one kernel, in the graph's order, and what they iterate over.
struct Cluster {
  std::vector<const Node*> members;
  Shape lead;            ///< the rows' axes
  ColumnUnit columns;    ///< of all members; every width is a multiple of the unit
  bool product = false;  ///< holds a matmul: a gemm
  bool closed = false;   ///< nothing may join: a kernel of its own
  /// Instructions of the members of one column, and those of the others times their columns.
  int64_t narrow = 0, wide = 0;

  /// What one vector of each part takes, about.
  int64_t instructions() const { return narrow + wide / std::max(columns.unit, int64_t{1}); }
};

/// A kernel has no more instructions for one vector than this. Measured, LLVM takes twice the time
/// for twice the instructions up to here (a chain of 340 tanh takes a quarter of a second) and more
/// behind it; the largest cells have a few hundred.
inline constexpr int64_t kMostInstructions = 8192;
/// What one part of a node adds to that count.
int64_t emitted_instructions(const Node& node);

/// The clusters of the graph's live nodes, greedily: a node joins the clusters that make its
/// operands if rows and columns agree, no path would leave the cluster and come back, and the
/// kernel stays below kMostInstructions; what follows a product stays out of its kernel where its
/// readers rather make it (passes/kernels/epilogues.h). With
/// `fuse` false every node is alone. Returns for each node id the index of its cluster, or -1 for
/// leaves, views outside clusters and scans.
struct Clusters {
  std::vector<Cluster> list;
  std::vector<int> of;
};
Clusters find_clusters(const Graph& graph, bool fuse);

}  // namespace graphc::core
