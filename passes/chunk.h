// SPDX-License-Identifier: Apache-2.0
// Clusters of nodes that work row by row around a product whose result is too large to keep.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// What a member of a cluster does with the rows.
enum class RowRole : uint8_t {
  local,        ///< the same rows as its operands
  row_product,  ///< rows times a matrix
  contraction,  ///< a sum over all rows: a sum, or a product of two transposed
};

/// A member: its role, and how many leading axes of its row operands (and, but for contractions, of
/// its results) are the rows.
struct RowMember {
  RowRole role = RowRole::local;
  int axes = 1;
};

/// Nodes that can be computed for some rows at a time.
struct RowCluster {
  const Node* seed = nullptr;        ///< the product
  int64_t rows = 0;                  ///< of all members together: the extent of the shared axis
  std::map<int, RowMember> members;  ///< by node id
  std::string why_not;  ///< why the seed's result must be kept whole; empty if it need not

  bool has(const Node& node) const { return members.contains(node.id); }
  /// Whether the value has rows; results of contractions have none.
  bool has_rows(Value value) const;
};

/// The cluster around a product whose result takes more than `bytes` bytes. Every use of a value
/// that is more than half as large is a member, and no path leaves the cluster and returns.
RowCluster row_cluster(const Graph& graph, const Node& seed, int64_t bytes);

}  // namespace graphc::core
