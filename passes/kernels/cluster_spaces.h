// SPDX-License-Identifier: Apache-2.0
// The column spaces of the bodies of growing clusters.
//
// It is not enough that all widths of a cluster have a common unit: the spaces of a body are
// smaller than the cluster, and their units larger. Widths 4, 6 and 12 have the unit 2 if the
// cluster contains a value of two columns, and none if that value is in a space of its own. So each
// cluster tracks the spaces of its members and of the values they read, as
// passes/kernels/row_model.h will find them.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "passes/kernels/column_spaces.h"

namespace graphc::core {

class ClusterSpaces {
 public:
  /// Whether the spaces that the node would join in the cluster have a common unit.
  bool take(int cluster, const Node& node);
  /// Joins them.
  void add(int cluster, const Node& node);
  /// Whether the spaces shared by both clusters have a common unit each.
  bool take_all(int into, int from);
  /// Moves the spaces of cluster `from` into `into`.
  void add_all(int into, int from);

 private:
  /// Elements by value.
  using Elements = std::unordered_map<uint64_t, int>;

  Elements& elements_of(int cluster);
  int element(Elements& elements, Value value);

  ColumnSpaces spaces_;
  std::vector<Elements> elements_;  // by cluster
};

}  // namespace graphc::core
