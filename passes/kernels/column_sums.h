// SPDX-License-Identifier: Apache-2.0
// Fuses sums over the rows of a matrix with the computation of their operand: the gradient of a
// gain is the sum over all rows and steps of a product that nothing else reads, and the gradients
// of several vectors are sums with common factors.
#pragma once

#include "passes/kernels/cluster_order.h"
#include "passes/kernels/clusters.h"

namespace graphc::core {

/// A sum over the leading axis of a matrix of several columns.
bool is_column_sum(const Node& node);

/// The operand of a column sum, seen through a view that makes it a matrix: its rows are all axes
/// but the last.
Value summed_by(const Node& column_sum);

/// The state of find_clusters() while it forms clusters.
struct ClusterState {
  const Graph& graph;
  const std::vector<std::vector<const Node*>>& users;
  ClusterOrder& order;
  std::vector<int>& index;  ///< from a unit of the order to its cluster
  Clusters& clusters;
};

/// Moves elementwise work that is read only by column sums into a cluster with them, if all its
/// inputs are in memory; then merges the clusters of sums that read a common value. Each resulting
/// cluster consists of elementwise nodes and views, and sums that are its only results.
void join_column_sums(const ClusterState& state);

}  // namespace graphc::core
