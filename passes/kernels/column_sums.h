// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a matrix in one kernel with what they sum: the gradient of a gain is the
// sum over all rows and steps of a product that nobody else reads, and those of several vectors are
// sums of what has the same factors.
#pragma once

#include "passes/kernels/cluster_order.h"
#include "passes/kernels/clusters.h"

namespace graphc::core {

/// A sum over the leading axis of a matrix of several columns.
bool is_column_sum(const Node& node);

/// What a column sum adds up, seen through a view that makes it a matrix: its rows are all axes but
/// the last.
Value summed_by(const Node& column_sum);

/// What find_clusters() knows, while it forms them.
struct ClusterState {
  const Graph& graph;
  const std::vector<std::vector<const Node*>>& users;
  ClusterOrder& order;
  std::vector<int>& index;  ///< of the cluster that a unit of the order is, by the unit
  Clusters& clusters;
};

/// Moves elementwise work that column sums read, and nobody else, into one cluster with them, where
/// all that it is made of lies in memory; then joins the clusters of sums that read a value both.
/// Each is then some elementwise nodes and views, and sums that are the only results.
void join_column_sums(const ClusterState& state);

}  // namespace graphc::core
