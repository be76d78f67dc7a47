// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/prune_graph.h"

#include <algorithm>
#include <map>

#include "ir/rewrite.h"
#include "tests/testing/change_scan.h"

namespace graphc::core::testing {
namespace {

/// The number of nodes, operands and results: while it decreases, more may be removable.
int64_t parts(const Graph& graph) {
  int64_t sum = int64_t(graph.nodes().size() + graph.results().size());
  for (const Node& node : graph.nodes()) {
    sum += int64_t(node.operands.size());
    for (const GraphPtr& region : node.regions) sum += parts(*region);
  }
  return sum;
}

std::vector<bool> used_results(const Graph& graph, const Node& node) {
  std::vector<bool> used(size_t(node.results()));
  const std::vector<bool> live = live_nodes(graph);
  const auto note = [&](Value value) {
    if (value.node == &node) used[size_t(value.index)] = true;
  };
  for (Value root : graph.roots()) note(root);
  for (const Node& other : graph.nodes()) {
    if (!live[size_t(other.id)]) continue;
    for (Value operand : other.operands) note(operand);
  }
  return used;
}

/// The scan or grad without its unused results, which become absent values.
Values without_unused(const Node& node, const Values& operands, Graph& to) {
  const std::vector<bool> used = used_results(*node.graph, node);
  Values made(used.size());
  if (node.is(ops::grad)) {
    Values kept{operands[0]};
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i]) kept.push_back(operands[i + 1]);
    }
    const Node& grad = to.add(ops::grad, kept, node.attributes, {}, node.where);
    for (size_t i = 0, next = 0; i < used.size(); ++i) {
      if (used[i]) made[i] = grad.result(int(next++));
    }
    return made;
  }
  const Scan scan(node);
  const ScanChange change = live_part(scan, operands, used);
  const Node& changed = add_changed(scan, change, to);
  const size_t emits = scan.emits().size();
  for (size_t i = 0; i < change.emits.size(); ++i) made[change.emits[i]] = changed.result(int(i));
  for (size_t i = 0; i < change.next.size(); ++i)
    made[emits + change.next[i]] = changed.result(int(change.emits.size() + i));
  return made;
}

bool is_assigned(const Graph& graph, const Node& state) {
  return std::ranges::any_of(graph.next(),
                             [&](const Next& next) { return next.state.node == &state; });
}

GraphPtr without_unused_inputs(const Graph& graph) {
  const std::vector<int> uses = use_counts(graph);
  auto result = std::make_unique<Graph>(graph.name());
  std::map<std::pair<const Node*, int>, Value> made;
  const auto at = [&](Value value) { return made.at({value.node, value.index}); };
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::input)) {
      if (uses[size_t(node.id)] > 0) made[{&node, 0}] = result->input(node.types[0], node.names[0]);
    } else if (node.is(ops::state)) {
      if (uses[size_t(node.id)] > 0 || is_assigned(graph, node))
        made[{&node, 0}] = result->state(node.types[0], node.names[0]);
    } else if (uses[size_t(node.id)] > 0) {
      Values operands;
      for (Value operand : node.operands) operands.push_back(at(operand));
      const Node& copy = copy_node(node, operands, *result);
      for (int i = 0; i < copy.results(); ++i) made[{&node, i}] = copy.result(i);
    }
  }
  Values results;
  for (Value root : graph.results()) results.push_back(at(root));
  result->set_results(results);
  for (const Next& next : graph.next()) result->set_next(at(next.state), at(next.value));
  return freeze(std::move(result));
}

}  // namespace

GraphPtr pruned(GraphPtr graph) {
  for (auto before = parts(*graph);;) {
    graph = rewrite(
        *graph, [](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
          if (!node.is(ops::scan) && !node.is(ops::grad)) return std::nullopt;
          return without_unused(node, operands, to);
        });
    graph = without_unused_inputs(*rewrite(*graph, nullptr));
    const int64_t after = parts(*graph);
    if (after == before) return graph;
    before = after;
  }
}

}  // namespace graphc::core::testing
