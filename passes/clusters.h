// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph go into one kernel.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"

namespace graphc {

/// Nodes that become one kernel, in the graph's order, and what they iterate over.
struct Cluster {
  std::vector<const Node*> members;
  Shape lead;            ///< the rows' axes
  int64_t unit = 0;      ///< the smallest width; every width is a multiple
  int64_t widest = 1;    ///< the largest
  bool product = false;  ///< holds a matmul: a gemm
  bool closed = false;   ///< nothing may join: a kernel of its own
};

/// The clusters of the graph's live nodes, greedily: a node joins the clusters that make its
/// operands if rows and columns agree and no path would leave the cluster and come back. With
/// `fuse` false every node is alone. Returns for each node id the index of its cluster, or -1 for
/// leaves, views outside clusters and scans.
struct Clusters {
  std::vector<Cluster> list;
  std::vector<int> of;
};
/// A sum or maximum along the row that keeps its axis.
bool is_row_reduction(const Node& node);
/// A concatenation along the columns whose parts are all multiples of the narrowest.
bool is_concat_of_units(const Node& node);
Clusters find_clusters(const Graph& graph, bool fuse);

}  // namespace graphc
