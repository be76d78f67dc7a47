// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/cluster_spaces.h"

#include <algorithm>
#include <utility>

#include "passes/kernels/row_model.h"

namespace graphc::core {
namespace {

bool has_columns(Value value) { return width_of(value.shape()) != 1; }

uint64_t key_of(Value value) { return uint64_t(value.node->id) << 32 | uint64_t(value.index); }

/// Calls `visit` for the values whose columns the node joins; all its results have one width.
template <typename Visit>
void visit_joined(const Node& node, const Visit& visit) {
  if (!is_local(node) || !has_columns(node.result(0))) return;
  for (int i = 0; i < node.results(); ++i) visit(node.result(i));
  for (Value operand : node.operands) {
    if (has_columns(operand)) visit(operand);
  }
}

}  // namespace

ClusterSpaces::Elements& ClusterSpaces::elements_of(int cluster) {
  if (size_t(cluster) >= elements_.size()) elements_.resize(size_t(cluster) + 1);
  return elements_[size_t(cluster)];
}

int ClusterSpaces::element(Elements& elements, Value value) {
  const auto [found, added] = elements.try_emplace(key_of(value), -1);
  if (added) found->second = spaces_.add(width_of(value.shape()));
  return found->second;
}

bool ClusterSpaces::take(int cluster, const Node& node) {
  const Elements& elements = elements_of(cluster);
  std::vector<ColumnUnit> all;
  visit_joined(node, [&](Value value) {
    const auto found = elements.find(key_of(value));
    const int64_t width = width_of(value.shape());
    all.push_back(found == elements.end() ? ColumnUnit{width, width}
                                          : spaces_.columns_of(found->second));
  });
  return joined(all).has_value();
}

void ClusterSpaces::add(int cluster, const Node& node) {
  Elements& elements = elements_of(cluster);
  visit_joined(node, [&](Value value) {
    spaces_.join(element(elements, value), element(elements, node.result(0)));
  });
}

bool ClusterSpaces::take_all(int into, int from) {
  elements_of(std::max(into, from));
  const Elements *few = &elements_of(into), *many = &elements_of(from);
  if (few->size() > many->size()) std::swap(few, many);
  // The spaces that would be merged: a forest over them, and the spaces of each tree.
  std::unordered_map<int, int> parent;
  const auto find = [&](int space) {
    for (auto up = parent.find(space); up != parent.end() && up->second != space;
         up = parent.find(space))
      space = up->second;
    return space;
  };
  for (const auto& [key, element] : *few) {
    const auto other = many->find(key);
    if (other == many->end()) continue;
    const int a = spaces_.find(element), b = spaces_.find(other->second);
    parent.try_emplace(a, a);
    parent.try_emplace(b, b);
    parent[find(a)] = find(b);
  }
  std::unordered_map<int, std::vector<ColumnUnit>> trees;
  for (const auto& [space, up] : parent) trees[find(space)].push_back(spaces_.columns_of(space));
  return std::ranges::all_of(trees,
                             [](const auto& tree) { return joined(tree.second).has_value(); });
}

void ClusterSpaces::add_all(int into, int from) {
  elements_of(std::max(into, from));
  Elements &to = elements_of(into), &moved = elements_of(from);
  // Move the smaller one.
  if (moved.size() > to.size()) to.swap(moved);
  for (const auto& [key, element] : moved) {
    const auto [found, added] = to.try_emplace(key, element);
    if (!added) spaces_.join(element, found->second);
  }
  moved.clear();
}

}  // namespace graphc::core
