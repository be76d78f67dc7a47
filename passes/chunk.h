// SPDX-License-Identifier: Apache-2.0
// Clusters of row-wise nodes around a product whose result is too large to store.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// The role of a cluster member with respect to the rows.
enum class RowRole : uint8_t {
  local,        ///< elementwise on rows
  row_product,  ///< rows times a matrix
  contraction,  ///< a sum over all rows: a reduction, or a product of two row operands
};

/// A member: its role, and the number of leading axes of its row operands (and, except for
/// contractions, its results) that are the rows.
struct RowMember {
  RowRole role = RowRole::local;
  int axes = 1;
};

/// Bytes of a product's result up to which the pass `chunk` keeps it whole: measured on CPUs
/// (docs/decisions/0004).
inline constexpr int64_t kLargestWhole = int64_t{144} << 20;

/// Nodes that can be computed for a subset of the rows.
struct RowCluster {
  const Node* seed = nullptr;        ///< the product
  int64_t rows = 0;                  ///< of all members: the extent of the shared axis
  std::map<int, RowMember> members;  ///< by node id
  std::string why_not;  ///< why the seed's result must be stored whole; otherwise empty

  bool has(const Node& node) const { return members.contains(node.id); }
  /// Whether the value has rows; results of contractions have none.
  bool has_rows(Value value) const;
};

/// The cluster around a product whose result exceeds `bytes` bytes. Every user of a value more than
/// half as large is a member, and no path leaves the cluster and returns.
RowCluster row_cluster(const Graph& graph, const Node& seed, int64_t bytes);

}  // namespace graphc::core
