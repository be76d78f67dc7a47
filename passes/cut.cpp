// SPDX-License-Identifier: Apache-2.0
#include "passes/cut.h"

#include <algorithm>
#include <deque>

#include "ir/composite.h"
#include "ir/op.h"
#include "ir/scalar.h"

namespace graphc::core {

int FlowNetwork::add_vertex() {
  edges_of_.emplace_back();
  return int(edges_of_.size()) - 1;
}

void FlowNetwork::add_edge(int from, int to, int64_t capacity) {
  edges_of_[size_t(from)].push_back(int(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[size_t(to)].push_back(int(edges_.size()));
  edges_.push_back({from, 0});
}

bool FlowNetwork::find_levels(int source, int sink) {
  level_.assign(edges_of_.size(), -1);
  level_[size_t(source)] = 0;
  std::deque<int> queue{source};
  while (!queue.empty()) {
    const int vertex = queue.front();
    queue.pop_front();
    for (int index : edges_of_[size_t(vertex)]) {
      const Edge& edge = edges_[size_t(index)];
      if (edge.capacity == 0 || level_[size_t(edge.to)] >= 0) continue;
      level_[size_t(edge.to)] = level_[size_t(vertex)] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[size_t(sink)] >= 0;
}

int64_t FlowNetwork::push(int source, int sink) {
  // The current path as edges: as long as a body is deep, hence not on the call stack.
  std::vector<int> path;
  int vertex = source;
  while (vertex != sink) {
    size_t& i = next_edge_[size_t(vertex)];
    if (i == edges_of_[size_t(vertex)].size()) {
      if (path.empty()) return 0;
      // A dead end: go back one edge and try the next.
      vertex = edges_[size_t(path.back() ^ 1)].to;
      path.pop_back();
      ++next_edge_[size_t(vertex)];
      continue;
    }
    const int index = edges_of_[size_t(vertex)][i];
    const Edge& edge = edges_[size_t(index)];
    if (edge.capacity == 0 || level_[size_t(edge.to)] != level_[size_t(vertex)] + 1) {
      ++i;
      continue;
    }
    path.push_back(index);
    vertex = edge.to;
  }
  int64_t amount = infinite;
  for (int index : path) amount = std::min(amount, edges_[size_t(index)].capacity);
  for (int index : path) {
    edges_[size_t(index)].capacity -= amount;
    edges_[size_t(index ^ 1)].capacity += amount;
  }
  return amount;
}

int64_t FlowNetwork::maximize(int source, int sink) {
  int64_t total = 0;
  while (find_levels(source, sink)) {
    next_edge_.assign(edges_of_.size(), 0);
    while (const int64_t pushed = push(source, sink)) {
      total += pushed;
      // An infinite path means that a wanted value can be neither stored nor recomputed.
      GRAPHC_CHECK(total < infinite, "a minimum cut of infinite cost");
    }
  }
  return total;
}

std::vector<bool> FlowNetwork::sink_side(int sink) const {
  std::vector<bool> reaches(edges_of_.size(), false);
  reaches[size_t(sink)] = true;
  std::deque<int> queue{sink};
  while (!queue.empty()) {
    const int vertex = queue.front();
    queue.pop_front();
    for (int index : edges_of_[size_t(vertex)]) {
      const int from = edges_[size_t(index)].to;
      if (reaches[size_t(from)] || edges_[size_t(index ^ 1)].capacity == 0) continue;
      reaches[size_t(from)] = true;
      queue.push_back(from);
    }
  }
  return reaches;
}

Values minimum_cut(const Graph& graph, const CutProblem& problem) {
  // Two kinds of vertices: a node is on the sink's side if the later part computes it; a value is,
  // if the later part has it, stored or computed.
  constexpr int source = 0, sink = 1;
  FlowNetwork network(2);
  std::vector<int> node_vertex(graph.nodes().size(), -1);
  std::vector<std::vector<int>> value_vertex(graph.nodes().size());

  std::vector<bool> needed(graph.nodes().size(), false);
  for (Value value : problem.wanted) needed[size_t(value.node->id)] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (!needed[size_t(node->id)]) continue;
    for (Value operand : node->operands) needed[size_t(operand.node->id)] = true;
  }

  const auto finite = [](int64_t cost) { return std::min(cost, FlowNetwork::infinite); };
  for (const Node& node : graph.nodes()) {
    const size_t id = size_t(node.id);
    if (!needed[id]) continue;
    node_vertex[id] = network.add_vertex();
    network.add_edge(source, node_vertex[id],
                     node.is(ops::input) ? never : finite(problem.repeat(node)));
    for (int i = 0; i < node.results(); ++i) {
      value_vertex[id].push_back(network.add_vertex());
      network.add_edge(node_vertex[id], value_vertex[id].back(),
                       finite(problem.store(node.result(i))));
    }
    for (Value operand : node.operands) {
      network.add_edge(value_vertex[size_t(operand.node->id)][size_t(operand.index)],
                       node_vertex[id], FlowNetwork::infinite);
    }
  }
  for (Value value : problem.wanted) {
    network.add_edge(value_vertex[size_t(value.node->id)][size_t(value.index)], sink,
                     FlowNetwork::infinite);
  }

  network.maximize(source, sink);
  const std::vector<bool> later = network.sink_side(sink);
  Values stored;
  for (const Node& node : graph.nodes()) {
    const size_t id = size_t(node.id);
    if (!needed[id] || later[size_t(node_vertex[id])]) continue;
    for (int i = 0; i < node.results(); ++i) {
      if (later[size_t(value_vertex[id][size_t(i)])]) stored.push_back(node.result(i));
    }
  }
  return stored;
}

namespace {

/// Far below the cost of a byte: an extra value, and a recomputed activation.
constexpr int64_t kByte = 4096, kValue = 3, kActivation = kValue + 1;

}  // namespace

int64_t cost_of_storing(const Type& type) { return type.bytes() * kByte + kValue; }

int64_t cost_of_repeating(const Node& node) {
  if (!is_elementwise(node.op)) return 0;
  return std::ranges::any_of(scalar_code(node).code,
                             [](const ScalarInstruction& in) { return cost_of(in.op) > 1; })
             ? kActivation
             : 0;
}

bool is_heavy(const Node& node) {
  for (const Op* op :
       {&ops::matmul, &ops::sum, &ops::max, &ops::gather, &ops::scatter, &ops::scatter_add,
        &ops::merge_rows, &ops::check_labels, &ops::scan, &ops::kernel}) {
    if (node.is(*op)) return true;
  }
  if (is_collective(node.op)) return true;
  if (!is_composite(node.op)) return false;
  const GraphPtr body = body_of(node);
  return std::any_of(body->nodes().begin(), body->nodes().end(), is_heavy);
}

}  // namespace graphc::core
