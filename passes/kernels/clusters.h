// SPDX-License-Identifier: Apache-2.0
// Groups the nodes of a graph into kernels.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/graph.h"
#include "passes/kernels/column_spaces.h"

namespace graphc::core {

/// What the nodes of a cluster reduce: a nest has sums along its rows, or over them.
enum class Reduces : uint8_t { nothing, along_rows, over_rows };

/// Nodes that become one kernel, in the graph's order, and their iteration space.
struct Cluster {
  std::vector<const Node*> members;
  Shape lead;            ///< the axes of the rows
  ColumnUnit columns;    ///< of all members; every width is a multiple of the unit
  bool product = false;  ///< contains a matmul: a gemm
  bool closed = false;   ///< nothing may join: a kernel of its own
  Reduces reduces = Reduces::nothing;
  /// Instructions of members with one column, and of the others multiplied by their columns.
  int64_t narrow = 0, wide = 0;

  /// Approximate instructions for one vector of each part.
  int64_t instructions() const { return narrow + wide / std::max(columns.unit, int64_t{1}); }
};

struct ClusterOptions {
  bool fuse = true;  ///< false: every node is alone
  /// Whether clusters of the same rows that do not need each other become one kernel: in a step of
  /// a loop whose rows carry a matrix.
  bool siblings = false;
};

/// The maximum number of instructions of a kernel per vector. LLVM's compile time was measured to
/// be linear up to here (a chain of 340 tanh takes a quarter of a second) and superlinear beyond;
/// the largest cells have a few hundred.
inline constexpr int64_t kMostInstructions = 8192;
/// The contribution of one part of a node to that number.
int64_t emitted_instructions(const Node& node);

/// The clusters of the graph's live nodes, formed greedily: a node joins the clusters of its
/// operands if rows and columns agree, no path would leave the cluster and return, and the kernel
/// stays below kMostInstructions. Nodes after a product stay out of its kernel if their readers had
/// better compute them (passes/kernels/epilogues.h). `of` has for each node id the index of its
/// cluster, or -1 for leaves, views outside clusters and scans.
struct Clusters {
  std::vector<Cluster> list;
  std::vector<int> of;
};
Clusters find_clusters(const Graph& graph, const ClusterOptions& options);

}  // namespace graphc::core
