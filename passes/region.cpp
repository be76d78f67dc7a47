// SPDX-License-Identifier: Apache-2.0
#include "passes/region.h"

#include "ir/op.h"

namespace graphc::core {

ValueMap::ValueMap(const Graph& from) : values_(from.nodes().size()) {}

void ValueMap::set(Value old, Value value) {
  Values& results = values_[size_t(old.node->id)];
  if (results.empty()) results.resize(size_t(old.node->results()));
  results[size_t(old.index)] = value;
}

Value ValueMap::find(Value old) const {
  const Values& results = values_[size_t(old.node->id)];
  return results.empty() ? Value{} : results[size_t(old.index)];
}

Value ValueMap::operator()(Value old) const {
  const Value value = find(old);
  GRAPHC_CHECK(value, "nothing stands for %{}", old.name());
  return value;
}

Values ValueMap::operator()(const Values& old) const {
  Values values;
  values.reserve(old.size());
  for (Value value : old) values.push_back((*this)(value));
  return values;
}

bool ValueSet::add(Value value) {
  if (!index_.emplace(value, values_.size()).second) return false;
  values_.push_back(value);
  return true;
}

size_t ValueSet::index(Value value) const {
  const auto found = index_.find(value);
  return found == index_.end() ? values_.size() : found->second;
}

Spread::Spread(const Graph& graph, Along along, const std::vector<const Node*>& roots,
               const Links& links)
    : marked_(graph.nodes().size(), false) {
  std::vector<std::vector<const Node*>> behind(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    for (Value operand : node.operands) {
      if (along == Along::users)
        behind[size_t(operand.node->id)].push_back(&node);
      else
        behind[size_t(node.id)].push_back(operand.node);
    }
  }
  for (const auto& [first, second] : links) behind[size_t(first->id)].push_back(second);
  std::vector<const Node*> stack;
  const auto mark = [&](const Node* node) {
    if (marked_[size_t(node->id)]) return;
    marked_[size_t(node->id)] = true;
    stack.push_back(node);
  };
  for (const Node* root : roots) mark(root);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Node* next : behind[size_t(node->id)]) mark(next);
  }
}

Values copy_cone(const Graph& from, ValueMap& known, const Values& wanted, Graph& to,
                 const RewriteNode& replace) {
  std::vector<bool> needed(from.nodes().size(), false);
  for (Value value : wanted) {
    if (!known.find(value)) needed[size_t(value.node->id)] = true;
  }
  for (auto node = from.nodes().rbegin(); node != from.nodes().rend(); ++node) {
    if (!needed[size_t(node->id)]) continue;
    for (Value operand : node->operands) {
      if (!known.find(operand)) needed[size_t(operand.node->id)] = true;
    }
  }
  for (const Node& node : from.nodes()) {
    if (!needed[size_t(node.id)]) continue;
    GRAPHC_CHECK(!node.is(ops::input) && !node.is(ops::state), "nothing stands for input %{}",
                 node.names[0]);
    const Values operands = known(node.operands);
    std::optional<Values> values = replace ? replace(node, operands, to) : std::nullopt;
    if (!values) values = results_of(copy_node(node, operands, to));
    for (int i = 0; i < node.results(); ++i) {
      if (!known.find(node.result(i))) known.set(node.result(i), (*values)[size_t(i)]);
    }
  }
  return known(wanted);
}

std::vector<bool> dependents(const Graph& graph, const Values& roots) {
  std::vector<bool> depends(graph.nodes().size(), false);
  for (Value root : roots) depends[size_t(root.node->id)] = true;
  for (const Node& node : graph.nodes()) {
    for (Value operand : node.operands) {
      if (depends[size_t(operand.node->id)]) depends[size_t(node.id)] = true;
    }
  }
  return depends;
}

std::vector<bool> needed_for(const Graph& graph, const Values& roots) {
  std::vector<bool> needed(graph.nodes().size(), false);
  for (Value root : roots) needed[size_t(root.node->id)] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (!needed[size_t(node->id)]) continue;
    for (Value operand : node->operands) needed[size_t(operand.node->id)] = true;
  }
  return needed;
}

std::vector<bool> differentiated_nodes(const Graph& graph) {
  std::vector<bool> all(graph.nodes().size());
  for (const Node& grad : graph.nodes()) {
    if (!grad.is(ops::grad)) continue;
    const std::vector<bool> active =
        dependents(graph, Values(grad.operands.begin() + 1, grad.operands.end()));
    const std::vector<bool> needed = needed_for(graph, {grad.operands[0]});
    for (size_t id = 0; id < all.size(); ++id) all[id] = all[id] || (active[id] && needed[id]);
  }
  return all;
}

std::vector<std::vector<int>> value_uses(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  std::vector<std::vector<int>> uses(graph.nodes().size());
  for (const Node& node : graph.nodes()) uses[size_t(node.id)].assign(node.types.size(), 0);
  for (const Node& node : graph.nodes()) {
    if (!live[size_t(node.id)]) continue;
    for (Value operand : node.operands) ++uses[size_t(operand.node->id)][size_t(operand.index)];
  }
  for (Value root : graph.roots()) ++uses[size_t(root.node->id)][size_t(root.index)];
  return uses;
}

Values results_of(const Node& node) {
  Values results;
  for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
  return results;
}

bool contains(const Graph& graph, const Op& op) {
  for (const Node& node : graph.nodes()) {
    if (node.is(op)) return true;
    for (const GraphPtr& region : node.regions) {
      if (contains(*region, op)) return true;
    }
  }
  return false;
}

}  // namespace graphc::core
