// SPDX-License-Identifier: Apache-2.0
// What is stored between two parts of a program is a minimum cut: the cheapest set of values from
// which the later part can compute everything it needs, recomputing if necessary. Used for the
// values that autodiff saves for the backward loop, and for the values that hoist lets cross the
// boundary of a loop.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// Maximum flow by Dinic's method; capacities are integers, so the answer is exact.
class FlowNetwork {
 public:
  static constexpr int64_t infinite = int64_t{1} << 60;

  explicit FlowNetwork(int vertices) : edges_of_(size_t(vertices)) {}
  int add_vertex();
  void add_edge(int from, int to, int64_t capacity);
  /// Pushes the maximum flow; returns its amount.
  int64_t maximize(int source, int sink);
  /// After maximize(): whether each vertex can still reach the sink. The edges into this set are
  /// the minimum cut nearest the sink.
  std::vector<bool> sink_side(int sink) const;

 private:
  struct Edge {
    int to;
    int64_t capacity;
  };
  bool find_levels(int source, int sink);
  int64_t push(int source, int sink);

  std::vector<Edge> edges_;  // edge i ^ 1 is the reverse of edge i
  std::vector<std::vector<int>> edges_of_;
  std::vector<int> level_;
  std::vector<size_t> next_edge_;
};

/// The cost of what is not allowed.
inline constexpr int64_t never = FlowNetwork::infinite;

struct CutProblem {
  /// The cost of storing a value that the first part computes, in units of cost_of_storing().
  std::function<int64_t(Value)> store;
  /// The cost of recomputing a node (not an input) in the later part.
  std::function<int64_t(const Node&)> repeat;
  /// The values that the later part needs.
  Values wanted;
};

/// The values to store, in the order of the graph; of several sets with equal cost, the one nearest
/// the wanted values.
Values minimum_cut(const Graph& graph, const CutProblem& problem);

/// The cost of storing a value of this type: its bytes, plus far less than one byte per value, so
/// that one value with four parts is cheaper than four parts.
int64_t cost_of_storing(const Type& type);
/// The cost of recomputing an elementwise node: 0, or, if it contains an operation that costs more
/// than an addition (cost_of() of ir/scalar.h), a tie-break: less than one byte and more than one
/// extra value.
int64_t cost_of_repeating(const Node& node);
/// Products, reductions, tables and loops, and composites that contain one: never recomputed to
/// save memory.
bool is_heavy(const Node& node);

}  // namespace graphc::core
