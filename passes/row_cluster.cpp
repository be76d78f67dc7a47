// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <set>

#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/chunk.h"
#include "passes/kernels/row_model.h"

namespace graphc::core {
namespace {

int64_t product_of(const Shape& shape, int axes) {
  int64_t product = 1;
  for (int axis = 0; axis < axes; ++axis) product *= shape[axis];
  return product;
}

bool same_lead(const Shape& a, const Shape& b, int axes) {
  if (a.rank() < axes || b.rank() < axes) return false;
  for (int axis = 0; axis < axes; ++axis) {
    if (a[axis] != b[axis]) return false;
  }
  return true;
}

class Growth {
 public:
  Growth(const Graph& graph, const Node& seed, int64_t bytes)
      : graph_(graph),
        elements_(std::max(bytes / 4, seed.types[0].shape.elements() / 2)),
        live_(live_nodes(graph)),
        users_(graph.nodes().size()) {
    for (const Node& node : graph.nodes()) {
      if (!live_[size_t(node.id)]) continue;
      for (Value operand : node.operands) users_[size_t(operand.node->id)].insert(&node);
    }
    cluster_.seed = &seed;
    const int axes = seed.types[0].shape.rank() - 1;
    cluster_.rows = product_of(seed.types[0].shape, axes);
    add(seed, {RowRole::row_product, axes});
  }

  RowCluster run() {
    while (!pending_.empty() && cluster_.why_not.empty()) {
      while (!pending_.empty() && cluster_.why_not.empty()) {
        const Node& node = *pending_.back();
        pending_.pop_back();
        take_operands(node);
        take_users(node);
      }
      if (cluster_.why_not.empty()) take_paths();
    }
    if (cluster_.why_not.empty()) check_results();
    return std::move(cluster_);
  }

 private:
  void add(const Node& node, RowMember member) {
    cluster_.members[node.id] = member;
    pending_.push_back(&node);
  }

  bool is_wide(Value value) const { return value.shape().elements() > elements_; }

  /// Wide elementwise operands are recomputed for each chunk.
  void take_operands(const Node& node) {
    const RowMember member = cluster_.members.at(node.id);
    if (member.role != RowRole::local) return;
    for (Value operand : node.operands) {
      const Node& maker = *operand.node;
      if (cluster_.has(maker) || !is_wide(operand) || !is_elementwise(maker.op)) continue;
      if (operand.shape().rank() == node.types[0].shape.rank() &&
          same_lead(operand.shape(), node.types[0].shape, member.axes))
        add(maker, {RowRole::local, member.axes});
    }
  }

  void take_users(const Node& node) {
    if (cluster_.members.at(node.id).role == RowRole::contraction) return;
    for (int i = 0; i < node.results(); ++i) {
      if (!is_wide(node.result(i))) continue;
      for (const Node* user : users_[size_t(node.id)]) take(*user);
    }
  }

  void take(const Node& node) {
    if (cluster_.has(node) || !cluster_.why_not.empty()) return;
    if (const std::optional<RowMember> member = classify(node)) {
      add(node, *member);
    } else {
      cluster_.why_not = "%" + node.names[0] + " needs all of its rows";
    }
  }

  /// Every node between two members becomes a member.
  void take_paths() {
    std::vector<bool> after(graph_.nodes().size(), false), before = after;
    for (const Node& node : graph_.nodes()) {
      after[size_t(node.id)] = cluster_.has(node);
      for (Value operand : node.operands) {
        if (after[size_t(operand.node->id)]) after[size_t(node.id)] = true;
      }
    }
    for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
      if (cluster_.has(*node)) before[size_t(node->id)] = true;
      if (!before[size_t(node->id)]) continue;
      for (Value operand : node->operands) before[size_t(operand.node->id)] = true;
    }
    for (const Node& node : graph_.nodes()) {
      const size_t id = size_t(node.id);
      if (after[id] && before[id] && live_[id]) take(node);
    }
  }

  /// The number of leading row axes of the operands with rows; empty if they differ.
  std::optional<int> row_axes(const Node& node) const {
    std::optional<int> axes;
    for (Value operand : node.operands) {
      const auto member = cluster_.members.find(operand.node->id);
      if (member == cluster_.members.end()) continue;
      if (!cluster_.has_rows(operand)) return std::nullopt;
      if (axes && *axes != member->second.axes) return std::nullopt;
      axes = member->second.axes;
    }
    return axes;
  }

  std::optional<RowMember> classify(const Node& node) const {
    const std::optional<int> axes = row_axes(node);
    if (!axes) return std::nullopt;
    const RowMember local{RowRole::local, *axes};
    if (keeps_rows(node, *axes)) return with_same_rows(node, local);
    if (node.is(ops::sum) || node.is(ops::max)) return classify_reduction(node, *axes);
    if (node.is(ops::matmul)) return classify_product(node, *axes);
    if (node.is(ops::reshape)) return classify_reshape(node, *axes);
    return std::nullopt;
  }

  std::optional<RowMember> with_same_rows(const Node& node, const RowMember& member) const {
    for (Value operand : node.operands) {
      if (!cluster_.has(*operand.node)) continue;
      if (operand.shape().rank() != node.types[0].shape.rank() ||
          !same_lead(operand.shape(), node.types[0].shape, member.axes))
        return std::nullopt;
    }
    return member;
  }

  static std::optional<RowMember> classify_reduction(const Node& node, int axes) {
    int of_rows = 0;
    for (int64_t axis : node.attributes.get_ints("axes")) of_rows += axis < axes;
    if (of_rows == 0) return RowMember{RowRole::local, axes};
    if (of_rows == axes && node.is(ops::sum)) return RowMember{RowRole::contraction, axes};
    return std::nullopt;
  }

  std::optional<RowMember> classify_product(const Node& node, int axes) const {
    const Value a = node.operands[0], b = node.operands[1];
    const bool ta = node.attributes.get_bool("transpose_a", false);
    const bool tb = node.attributes.get_bool("transpose_b", false);
    if (b.shape().rank() != 2) return std::nullopt;
    if (!ta && cluster_.has(*a.node) && !cluster_.has(*b.node) && axes == a.shape().rank() - 1)
      return RowMember{RowRole::row_product, axes};
    if (ta && !tb && a.shape().rank() == 2 && axes == 1) return RowMember{RowRole::contraction, 1};
    return std::nullopt;
  }

  /// The other axes may change, and the row axes may be merged or split.
  std::optional<RowMember> classify_reshape(const Node& node, int axes) const {
    const Shape &from = node.operands[0].shape(), &to = node.types[0].shape;
    if (same_lead(from, to, axes)) return RowMember{RowRole::local, axes};
    for (int lead = 1; lead <= to.rank(); ++lead) {
      if (product_of(to, lead) == cluster_.rows) return RowMember{RowRole::local, lead};
    }
    return std::nullopt;
  }

  void check_results() {
    for (Value root : graph_.roots()) {
      if (cluster_.has_rows(root) && is_wide(root))
        cluster_.why_not = "%" + root.name() + " is a result";
    }
  }

  const Graph& graph_;
  const int64_t elements_;
  const std::vector<bool> live_;
  std::vector<std::set<const Node*>> users_;
  std::vector<const Node*> pending_;
  RowCluster cluster_;
};

}  // namespace

bool RowCluster::has_rows(Value value) const {
  const auto member = members.find(value.node->id);
  return member != members.end() && member->second.role != RowRole::contraction;
}

RowCluster row_cluster(const Graph& graph, const Node& seed, int64_t bytes) {
  return Growth(graph, seed, bytes).run();
}

}  // namespace graphc::core
