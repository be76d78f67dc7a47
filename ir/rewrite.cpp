// SPDX-License-Identifier: Apache-2.0
#include "ir/rewrite.h"

#include <algorithm>
#include <unordered_map>

#include "ir/op.h"

namespace graphc::core {
namespace {

/// Maps old values to new ones.
class Mapping {
 public:
  explicit Mapping(const Graph& from) {
    first_.reserve(from.nodes().size());
    size_t values = 0;
    for (const Node& node : from.nodes()) {
      first_.push_back(values);
      values += size_t(node.results());
    }
    values_.resize(values);
  }

  void set(const Node& old, const Values& values) {
    std::ranges::copy(values, values_.begin() + ptrdiff_t(first_[size_t(old.id)]));
  }
  void set(const Node& old, const Node& copy) {
    for (int i = 0; i < old.results(); ++i)
      values_[first_[size_t(old.id)] + size_t(i)] = copy.result(i);
  }
  Value operator()(Value old) const {
    return values_[first_[size_t(old.node->id)] + size_t(old.index)];
  }
  Values operator()(const Values& old) const {
    Values result;
    result.reserve(old.size());
    for (Value value : old) result.push_back((*this)(value));
    return result;
  }

 private:
  std::vector<size_t> first_;  // index of a node's first result, by node id
  Values values_;
};

void copy_nodes(const Graph& from, Graph& to, Mapping& mapping, const RewriteNode& replace) {
  const std::vector<bool> live = live_nodes(from);
  to.reserve(from.nodes().size());
  for (const Node& node : from.nodes()) {
    if (node.is(ops::input) || node.is(ops::state) || !live[size_t(node.id)]) continue;
    Values operands = mapping(node.operands);
    const std::optional<Values> replacement = replace ? replace(node, operands, to) : std::nullopt;
    if (!replacement) {
      const Node& copy = copy_node(node, std::move(operands), to);
      GRAPHC_CHECK(copy.results() == node.results(), "a copy of '{}' with {} results has {}",
                   node.op.name, node.results(), copy.results());
      mapping.set(node, copy);
      continue;
    }
    GRAPHC_CHECK(replacement->size() == node.types.size(),
                 "'{}' with {} results is replaced by {} values", node.op.name, node.types.size(),
                 replacement->size());
    mapping.set(node, *replacement);
  }
}

}  // namespace

const Node& copy_node(const Node& node, Values operands, Graph& to) {
  return copy_node(node, std::move(operands), to, node.regions);
}

const Node& copy_node(const Node& node, Values operands, Graph& to, std::vector<GraphPtr> regions) {
  return to.add_copy(node, std::move(operands), std::move(regions));
}

GraphPtr rewrite(const Graph& from, const RewriteNode& replace) {
  auto to = std::make_unique<Graph>(from.name());
  Mapping mapping(from);
  for (Value input : from.inputs())
    mapping.set(*input.node, *to->input(input.type(), input.name(), input.node->where).node);
  for (Value state : from.states())
    mapping.set(*state.node, *to->state(state.type(), state.name(), state.node->where).node);
  copy_nodes(from, *to, mapping, replace);
  to->set_results(mapping(from.results()));
  for (const Next& next : from.next()) to->set_next(mapping(next.state), mapping(next.value));
  return freeze(std::move(to));
}

Values inline_graph(const Graph& body, const Values& arguments, Graph& to) {
  return inline_graph(body, arguments, to, nullptr);
}

Values inline_graph(const Graph& body, const Values& arguments, Graph& to,
                    const RewriteNode& replace) {
  GRAPHC_CHECK(arguments.size() == body.inputs().size(), "{} arguments for a body of {} inputs",
               arguments.size(), body.inputs().size());
  GRAPHC_CHECK(body.states().empty(), "a body with states cannot be inlined");
  Mapping mapping(body);
  for (size_t i = 0; i < arguments.size(); ++i)
    mapping.set(*body.inputs()[i].node, Values{arguments[i]});
  copy_nodes(body, to, mapping, replace);
  return mapping(body.results());
}

namespace {

Values results_of(const Node& node) {
  Values results;
  for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
  return results;
}

using Change = std::function<GraphPtr(const GraphPtr&)>;
using Changed = std::unordered_map<const Graph*, GraphPtr>;

GraphPtr rewrite_regions(const GraphPtr& graph, const Change& change, Changed& done) {
  std::unordered_map<const Node*, std::vector<GraphPtr>> replaced;
  for (const Node& node : graph->nodes()) {
    bool different = false;
    std::vector<GraphPtr> regions;
    for (const GraphPtr& region : node.regions) {
      GraphPtr& result = done[region.get()];
      if (!result) {
        const GraphPtr inner = rewrite_regions(region, change, done);
        done[region.get()] = change(inner);
      }
      regions.push_back(done[region.get()]);
      different |= regions.back() != region;
    }
    if (different) replaced.emplace(&node, std::move(regions));
  }
  if (replaced.empty()) return graph;
  return rewrite(*graph,
                 [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
                   const auto found = replaced.find(&node);
                   if (found == replaced.end()) return std::nullopt;
                   return results_of(copy_node(node, operands, to, found->second));
                 });
}

}  // namespace

GraphPtr rewrite_regions(const GraphPtr& graph, const Change& change) {
  Changed done;
  return rewrite_regions(graph, change, done);
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (Value root : graph.roots()) live[size_t(root.node->id)] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (node->is(ops::input) || node->is(ops::state)) live[size_t(node->id)] = true;
    if (!live[size_t(node->id)]) continue;
    for (Value operand : node->operands) live[size_t(operand.node->id)] = true;
  }
  return live;
}

std::vector<int> use_counts(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  std::vector<int> counts(graph.nodes().size(), 0);
  for (const Node& node : graph.nodes()) {
    if (!live[size_t(node.id)]) continue;
    for (Value operand : node.operands) ++counts[size_t(operand.node->id)];
  }
  for (Value root : graph.roots()) ++counts[size_t(root.node->id)];
  return counts;
}

}  // namespace graphc::core
