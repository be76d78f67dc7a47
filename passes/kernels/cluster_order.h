// SPDX-License-Identifier: Apache-2.0
// An order of a graph's nodes in which nodes are made one, two at a time, so that what is left
// stays a graph without cycles.
//
// The units stand in an order in which each comes after all it needs. Whether a path leaves two of
// them and comes back is looked for only between their places, and what is found there that the
// later one needs moves before the earlier one: a long graph is not gone through for each node that
// joins. Places are labels with room between them, so that moving a unit renumbers no other.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

class ClusterOrder {
 public:
  /// Every node is a unit.
  explicit ClusterOrder(const Graph& graph);

  /// The unit a node is in: the id of one of its nodes.
  int unit_of(const Node& node) { return find(node.id); }

  /// Makes one unit of two distinct ones. False, and nothing changes, when a path goes from one
  /// over a third back to the other, or when that is not known after kMostEdges edges.
  bool join(int a, int b);

  /// Edges that joins have gone along so far: a measure of work.
  int64_t edges() const { return edges_; }

  static constexpr int kMostEdges = 1 << 14;

 private:
  int find(int id);
  /// The units that the unit needs, each once.
  const std::vector<int>& needs_of(int unit);
  /// Units behind `early` that `late` needs, in their order; false as join() says.
  bool find_between(int early, int late, std::vector<int>& between);
  void move_before(const std::vector<int>& units, int place);
  void renumber();

  std::vector<int> parent_;
  std::vector<std::vector<int>> needs_;  // of each unit, as nodes
  std::vector<int64_t> label_;
  std::vector<int> before_, after_;  // neighbours in the order; -1 at its ends
  std::vector<int> seen_;            // the search that has seen the unit last
  int searches_ = 0;
  int first_ = -1;
  int64_t edges_ = 0;
};

}  // namespace graphc::core
