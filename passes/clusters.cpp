// SPDX-License-Identifier: Apache-2.0
#include "passes/clusters.h"

#include <algorithm>
#include <numeric>

#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "passes/cluster_order.h"
#include "passes/fuse.h"
#include "passes/row_program.h"

namespace graphc {
namespace {

bool is_leaf(const Node& node) {
  return node.is(ops::constant) || node.is(ops::iota) || node.is(ops::input) || node.is(ops::state);
}

Shape leading(const Shape& shape) {
  return shape.rank() == 0 ? shape : shape.without(shape.rank() - 1);
}
int64_t width_of(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[-1]; }

/// Views along the columns that a kernel can look through: those of whole parts. One column is a
/// number for each row, not a part.
bool is_column_view(const Node& node) {
  if (node.is(ops::broadcast_to)) return true;
  if (!node.is(ops::split) && !node.is(ops::slice)) return false;
  const Shape& from = node.operands[0].shape();
  const int64_t width = node.types[0].shape[-1];
  return node.attributes.get_int("axis", 0) == from.rank() - 1 && width > 1 &&
         from[-1] % width == 0 && node.attributes.get_int("start", 0) % width == 0;
}

/// Whether the node makes or reads values of no elements: those have no unit.
bool has_no_elements(const Node& node) {
  const auto empty = [](const Type& type) { return type.shape.elements() == 0; };
  return std::ranges::any_of(node.types, empty) ||
         std::ranges::any_of(node.operands, [&](Value operand) { return empty(operand.type()); });
}

/// As many parts of a unit as a kernel has registers and code for (passes/row_program.cpp).
constexpr int64_t kMostParts = 64;

class Clustering {
 public:
  Clustering(const Graph& graph, bool fuse)
      : graph_(graph), fuse_(fuse), live_(live_nodes(graph)), order_(graph) {
    index_.assign(graph.nodes().size(), -1);
    users_.resize(graph.nodes().size());
    for (const Node& node : graph.nodes()) {
      if (!live_[size_t(node.id)]) continue;
      for (Value operand : node.operands) users_[size_t(operand.node->id)].push_back(&node);
    }
  }

  Clusters run() {
    for (const Node& node : graph_.nodes()) {
      if (live_[size_t(node.id)] && !is_leaf(node) && !node.is(ops::scan)) place(node);
    }
    for (Cluster& cluster : result_.list) std::ranges::sort(cluster.members, {}, &Node::id);
    for (const Node& node : graph_.nodes()) result_.of.push_back(cluster_of(node));
    drop_trailing_views();
    return std::move(result_);
  }

 private:
  /// The index of the node's cluster, or -1.
  int cluster_of(const Node& node) { return index_[size_t(order_.unit_of(node))]; }

  void place(const Node& node) {
    const bool joins =
        is_elementwise(node.op) || is_row_reduction(node) || is_concat_of_units(node);
    if (is_view(node)) {
      if (fuse_ && is_column_view(node)) join(node, cluster_of(*node.operands[0].node));
      return;
    }
    if (fuse_ && joins && join_operands(node)) return;
    Cluster cluster;
    cluster.members = {&node};
    cluster.lead = leading(domain(node));
    cluster.unit = unit_of(node);
    cluster.widest = widest_of(node);
    cluster.product = node.is(ops::matmul);
    cluster.closed =
        has_no_elements(node) || (!joins && (!node.is(ops::matmul) || is_batched_product(node)));
    count(node, cluster);
    index_[size_t(node.id)] = int(result_.list.size());
    result_.list.push_back(std::move(cluster));
  }

  /// Joins the cluster of an operand, and the others with it where they can be one; false if none
  /// takes the node.
  bool join_operands(const Node& node) {
    std::vector<int> candidates;
    const bool summed = only_reduced(node);
    for (Value operand : node.operands) {
      const int cluster = cluster_of(*operand.node);
      // What is only summed belongs to the sum, not behind a product that would store it.
      if (summed && cluster >= 0 && result_.list[size_t(cluster)].product) continue;
      if (cluster >= 0) candidates.push_back(cluster);
    }
    // The latest producer first: most of what a node reads is made just before it.
    std::sort(candidates.rbegin(), candidates.rend());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    bool placed = false;
    for (int cluster : candidates)
      placed = placed ? merge(cluster_of(node), cluster) : join(node, cluster);
    for (size_t i = 0; placed && i < candidates.size(); ++i) merge(cluster_of(node), candidates[i]);
    return placed;
  }

  bool only_reduced(const Node& node) const {
    const auto& users = users_[size_t(node.id)];
    return !users.empty() && std::ranges::all_of(users, [](const Node* user) {
      return user->is(ops::sum) || user->is(ops::max);
    });
  }

  /// The shape a node works over: a reduction along the row works over its operand.
  static Shape domain(const Node& node) {
    return is_row_reduction(node) ? node.operands[0].shape() : node.types[0].shape;
  }

  static int64_t unit_of(const Node& node) {
    int64_t unit = width_of(domain(node));
    for (const Type& type : node.types) {
      if (width_of(type.shape) > 1) unit = std::min(unit, width_of(type.shape));
    }
    if (is_concat_of_units(node)) {
      for (Value operand : node.operands) unit = std::min(unit, width_of(operand.shape()));
    }
    return unit;
  }

  static int64_t widest_of(const Node& node) {
    int64_t widest = width_of(domain(node));
    for (const Type& type : node.types) widest = std::max(widest, width_of(type.shape));
    return widest;
  }

  /// Whether the node reads an operand of the cluster's product that has no rows: the right one,
  /// and the left one if it is transposed. The product is the first member.
  static bool reads_matrix(const Node& node, const Cluster& cluster) {
    const Node& product = *cluster.members.front();
    const auto reads = [&](Value value) {
      return std::ranges::find(node.operands, value) != node.operands.end();
    };
    return reads(product.operands[1]) ||
           (product.attributes.get_bool("transpose_a", false) && reads(product.operands[0]));
  }

  bool agrees(const Node& node, const Cluster& cluster) const {
    if (cluster.closed || has_no_elements(node)) return false;
    if (cluster.product && (is_row_reduction(node) || reads_matrix(node, cluster))) return false;
    if (domain(node).rank() == 0) return cluster.lead.rank() == 0 && cluster.unit == 1;
    if (leading(domain(node)) != cluster.lead) return false;
    std::vector<int64_t> widths{width_of(domain(node))};
    for (const Type& type : node.types) widths.push_back(width_of(type.shape));
    if (is_concat_of_units(node)) {
      for (Value operand : node.operands) widths.push_back(width_of(operand.shape()));
    }
    return units_agree(widths, cluster.unit, cluster.widest);
  }

  /// All widths but 1 (a number for each row) are multiples of the smallest.
  static bool units_agree(const std::vector<int64_t>& widths, int64_t unit, int64_t widest) {
    int64_t smallest = unit;
    for (int64_t width : widths) {
      if (width > 1) smallest = smallest > 1 ? std::min(smallest, width) : width;
    }
    if (smallest <= 0 || widest / smallest > kMostParts) return false;
    if (unit > 1 && unit % smallest != 0) return false;
    return std::all_of(widths.begin(), widths.end(), [&](int64_t w) {
      return w == 1 || (w % smallest == 0 && w / smallest <= kMostParts);
    });
  }

  bool join(const Node& node, int index) {
    if (index < 0 || !agrees(node, result_.list[size_t(index)])) return false;
    Cluster& cluster = result_.list[size_t(index)];
    Cluster alone;
    alone.unit = unit_of(node);
    count(node, alone);
    if (!small_together(cluster, alone)) return false;
    const int unit = order_.unit_of(*cluster.members.front());
    if (!order_.join(unit, node.id)) return false;
    index_[size_t(order_.unit_of(node))] = index;
    cluster.members.push_back(&node);
    cluster.unit = common_unit(cluster, alone);
    cluster.narrow += alone.narrow;
    cluster.wide += alone.wide;
    cluster.widest = std::max(cluster.widest, widest_of(node));
    return true;
  }

  static void count(const Node& node, Cluster& cluster) {
    const int64_t width = widest_of(node);
    (width > 1 ? cluster.wide : cluster.narrow) += emitted_instructions(node) * width;
  }

  static int64_t common_unit(const Cluster& a, const Cluster& b) {
    if (b.unit <= 1) return a.unit;
    return a.unit > 1 ? std::min(a.unit, b.unit) : b.unit;
  }

  static bool small_together(const Cluster& a, const Cluster& b) {
    Cluster both;
    both.unit = common_unit(a, b);
    both.narrow = a.narrow + b.narrow;
    both.wide = a.wide + b.wide;
    return both.instructions() <= kMostInstructions;
  }

  /// Moves all of cluster `from` into `into`; always true, so that a chain of attempts reads as
  /// one.
  bool merge(int into, int from) {
    if (into == from || into < 0 || from < 0) return true;
    Cluster &a = result_.list[size_t(into)], &b = result_.list[size_t(from)];
    if (a.closed || b.closed || a.lead != b.lead || b.members.empty()) return true;
    if (a.product || b.product || !small_together(a, b)) return true;
    if (!units_agree({b.unit}, a.unit, std::max(a.widest, b.widest))) return true;
    const int of_a = order_.unit_of(*a.members.front()), of_b = order_.unit_of(*b.members.front());
    if (!order_.join(of_a, of_b)) return true;
    index_[size_t(order_.unit_of(*a.members.front()))] = into;
    a.unit = common_unit(a, b);
    a.widest = std::max(a.widest, b.widest);
    a.narrow += b.narrow;
    a.wide += b.wide;
    // The shorter list is copied.
    if (b.members.size() > a.members.size()) a.members.swap(b.members);
    a.members.insert(a.members.end(), b.members.begin(), b.members.end());
    b.members.clear();
    return true;
  }

  /// A view that no member reads is a view of the cluster's result: it goes back outside.
  void drop_trailing_views() {
    for (Cluster& cluster : result_.list) {
      for (auto member = cluster.members.rbegin(); member != cluster.members.rend(); ++member) {
        if (!is_view(**member)) continue;
        const int index = result_.of[size_t((*member)->id)];
        const auto& uses = users_[size_t((*member)->id)];
        const bool read = std::any_of(uses.begin(), uses.end(), [&](const Node* user) {
          return result_.of[size_t(user->id)] == index;
        });
        if (!read) result_.of[size_t((*member)->id)] = -1;
      }
      std::erase_if(cluster.members,
                    [&](const Node* node) { return result_.of[size_t(node->id)] < 0; });
    }
  }

  const Graph& graph_;
  const bool fuse_;
  const std::vector<bool> live_;
  std::vector<std::vector<const Node*>> users_;
  ClusterOrder order_;
  std::vector<int> index_;  // of the cluster that a unit of the order is, by the unit; -1: none
  Clusters result_;
};

}  // namespace

bool is_row_reduction(const Node& node) {
  return (node.is(ops::sum) || node.is(ops::max)) && node.attributes.get_bool("keep", false);
}

int64_t emitted_instructions(const Node& node) {
  if (!is_elementwise(node.op)) return 1;
  // An elementary function is a polynomial and what goes before and after it.
  constexpr int64_t kElementary = 24;
  int64_t instructions = 0;
  for (const ScalarInstruction& in : scalar_code(node).code)
    instructions += is_elementary(in.op) ? kElementary : 1;
  return instructions;
}

bool is_concat_of_units(const Node& node) {
  if (!node.is(ops::concat) || node.attributes.get_int("axis", 0) != node.types[0].shape.rank() - 1)
    return false;
  int64_t unit = node.types[0].shape[-1];
  for (Value operand : node.operands) unit = std::min(unit, width_of(operand.shape()));
  // One column is a number for each row, not a unit of wider values.
  return unit > 1 && node.types[0].shape[-1] / unit <= kMostParts &&
         std::ranges::all_of(node.operands,
                             [&](Value operand) { return width_of(operand.shape()) % unit == 0; });
}

Clusters find_clusters(const Graph& graph, bool fuse) { return Clustering(graph, fuse).run(); }

}  // namespace graphc
