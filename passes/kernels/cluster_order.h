// SPDX-License-Identifier: Apache-2.0
// A topological order of a graph's nodes under contraction of node pairs, which keeps the
// contracted graph acyclic.
//
// The units are kept in topological order. Cycle checks search only between the two positions, and
// units found there that the later one needs are moved before the earlier one: joins do not
// traverse the whole graph. Positions are labels with gaps, so that moving a unit does not renumber
// the others.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

class ClusterOrder {
 public:
  /// Every node is a unit.
  explicit ClusterOrder(const Graph& graph);

  /// The unit of a node: the id of one of its nodes.
  int unit_of(const Node& node) { return find(node.id); }

  /// Merges two distinct units. Returns false, unchanged, if a path leads from one over a third
  /// back to the other, or if that is undecided after kMostEdges edges.
  bool join(int a, int b);

  /// The edges traversed by joins so far: a measure of work.
  int64_t edges() const { return edges_; }

  static constexpr int kMostEdges = 1 << 14;

 private:
  int find(int id);
  /// The units that the unit needs, without duplicates.
  const std::vector<int>& needs_of(int unit);
  /// The units after `early` that `late` needs, in order; returns false under the conditions of
  /// join().
  bool find_between(int early, int late, std::vector<int>& between);
  void move_before(const std::vector<int>& units, int place);
  void renumber();

  std::vector<int> parent_;
  std::vector<std::vector<int>> needs_;  // of each unit, as nodes
  std::vector<int64_t> label_;
  std::vector<int> before_, after_;  // neighbours in the order; -1 at its ends
  std::vector<int> seen_;            // the last search that visited the unit
  int searches_ = 0;
  int first_ = -1;
  int64_t edges_ = 0;
};

}  // namespace graphc::core
