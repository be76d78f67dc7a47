// SPDX-License-Identifier: Apache-2.0
// What is stored between two parts of a program is a minimum cut: the cheapest set of values from
// which the later part can compute, again if need be, all it wants. Used for what autodiff saves
// for the backward loop and for what hoist lets cross the edge of a loop.
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
  /// Pushes all flow there is; returns its amount.
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

/// Costs that stand for "must not".
inline constexpr int64_t never = FlowNetwork::infinite;

struct CutProblem {
  /// The price of storing a value when the first part computes it, in units of cost_of_bytes().
  std::function<int64_t(Value)> store;
  /// The price of computing a node (not an input) in the later part.
  std::function<int64_t(const Node&)> repeat;
  /// What the later part needs.
  Values wanted;
};

/// The values to store, in the order of the graph; when several sets cost the same, the one nearest
/// what is wanted.
Values minimum_cut(const Graph& graph, const CutProblem& problem);

/// The price of storing a value of this type: its bytes, and far below one byte for each value, so
/// that one value of four parts is cheaper than the four parts.
int64_t cost_of_storing(const Type& type);
/// The price of computing an elementwise node again: nothing, or for transcendental functions less
/// than storing any byte and more than that of one value more, so that it decides between equal
/// bytes.
int64_t cost_of_repeating(const Node& node);
/// Products, reductions, tables and loops, and composites that contain one: what is never computed
/// twice to save memory.
bool is_heavy(const Node& node);

}  // namespace graphc::core
