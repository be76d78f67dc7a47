// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/clusters.h"

#include <algorithm>
#include <set>

#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "passes/kernels/cluster_order.h"
#include "passes/kernels/cluster_spaces.h"
#include "passes/kernels/column_sums.h"
#include "passes/kernels/epilogues.h"
#include "passes/kernels/fuse.h"
#include "passes/kernels/row_model.h"
#include "passes/library_layers.h"

namespace graphc::core {
namespace {

bool is_given(const Node& node) {
  return node.is(ops::constant) || node.is(ops::iota) || node.is(ops::input) || node.is(ops::state);
}

/// Whether the node makes or reads empty values: those have no unit.
bool has_no_elements(const Node& node) {
  const auto empty = [](const Type& type) { return type.shape.elements() == 0; };
  return std::ranges::any_of(node.types, empty) ||
         std::ranges::any_of(node.operands, [&](Value operand) { return empty(operand.type()); });
}

/// The most values of full rows that a kernel of siblings reads or stores: each takes an address
/// and, in a sum along rows, a register a row.
constexpr size_t kMostMoving = 4;

class Clustering {
 public:
  /// Nodes in `apart`, by id, do not join a product.
  Clustering(const Graph& graph, const ClusterOptions& options, std::vector<bool> apart = {})
      : graph_(graph),
        fuse_(options.fuse),
        siblings_(options.fuse && options.siblings),
        apart_(std::move(apart)),
        live_(live_nodes(graph)),
        order_(graph) {
    index_.assign(graph.nodes().size(), -1);
    users_.resize(graph.nodes().size());
    is_root_.resize(graph.nodes().size());
    for (Value root : graph.roots()) is_root_[size_t(root.node->id)] = true;
    for (const Node& node : graph.nodes()) {
      if (!live_[size_t(node.id)]) continue;
      for (Value operand : node.operands) users_[size_t(operand.node->id)].push_back(&node);
    }
  }

  Clusters run() {
    for (const Node& node : graph_.nodes()) {
      if (live_[size_t(node.id)] && !is_given(node) && !node.is(ops::scan) &&
          !is_done_by_library(node) && !is_collective(node.op))
        place(node);
    }
    if (fuse_) join_column_sums({graph_, users_, order_, index_, result_});
    if (siblings_) join_siblings();
    for (Cluster& cluster : result_.list) std::ranges::sort(cluster.members, {}, &Node::id);
    for (const Node& node : graph_.nodes()) result_.of.push_back(cluster_of(node));
    drop_trailing_views();
    return std::move(result_);
  }

 private:
  /// The index of the node's cluster, or -1.
  int cluster_of(const Node& node) { return index_[size_t(order_.unit_of(node))]; }

  void place(const Node& node) {
    const bool joins = is_elementwise(node.op) || is_row_reduction(node) ||
                       is_concat_of_units(node) || is_inner_reduction(node);
    if (is_view(node)) {
      if (fuse_ && is_column_view(node)) join(node, cluster_of(*node.operands[0].node));
      return;
    }
    if (fuse_ && is_widening(node) && only_read_whole(node)) return;
    if (fuse_ && joins && join_operands(node)) return;
    Cluster cluster;
    cluster.members = {&node};
    cluster.lead = rows_of(domain_of(node));
    cluster.columns = columns_of(node);
    cluster.product = node.is(ops::matmul);
    cluster.reduces = reduces(node);
    cluster.closed =
        has_no_elements(node) || (!joins && (!node.is(ops::matmul) || is_batched_product(node)));
    count(node, cluster);
    const int index = int(result_.list.size());
    index_[size_t(node.id)] = index;
    result_.list.push_back(std::move(cluster));
    spaces_.add(index, node);
  }

  /// Joins the cluster of an operand, merging the clusters of the other operands where possible;
  /// returns false if none accepts the node.
  bool join_operands(const Node& node) {
    std::vector<int> candidates;
    const bool summed = only_reduced(node);
    for (Value operand : node.operands) {
      const int cluster = cluster_of(*operand.node);
      // A value that is only summed belongs in the sum's kernel: after a product it would be
      // stored.
      if (summed && cluster >= 0 && result_.list[size_t(cluster)].product) continue;
      if (cluster >= 0 && belongs_to_another_sweep(node, cluster)) continue;
      if (cluster >= 0) candidates.push_back(cluster);
    }
    // Latest producer first: most operands are computed just before the node.
    std::sort(candidates.rbegin(), candidates.rend());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    bool placed = false;
    for (int cluster : candidates)
      placed = placed ? merge(cluster_of(node), cluster) : join(node, cluster);
    for (size_t i = 0; placed && i < candidates.size(); ++i) merge(cluster_of(node), candidates[i]);
    return placed;
  }

  /// Whether the node is read only by products and sums over rows: they read memory, where the
  /// unwidened value already is.
  bool only_read_whole(const Node& node) const {
    const auto& users = users_[size_t(node.id)];
    return !users.empty() && std::ranges::all_of(users, [](const Node* user) {
      return user->is(ops::matmul) || (user->is(ops::sum) && !is_row_reduction(*user));
    });
  }

  /// Whether the node is read by sums over the rows of matrices alone, and the cluster's values by
  /// sums along rows: those are different nests, and the second one had better compute it.
  bool belongs_to_another_sweep(const Node& node, int index) {
    const auto& users = users_[size_t(node.id)];
    if (users.empty() ||
        !std::ranges::all_of(users, [](const Node* user) { return is_inner_reduction(*user); }))
      return false;
    const Cluster& cluster = result_.list[size_t(index)];
    if (cluster.reduces == Reduces::along_rows) return true;
    const auto sums_rows = [](const Node* user) { return is_row_reduction(*user); };
    return std::ranges::any_of(cluster.members, [&](const Node* member) {
      return std::ranges::any_of(users_[size_t(member->id)], [&](const Node* user) {
        const auto& further = users_[size_t(user->id)];
        return sums_rows(user) || (is_elementwise(user->op) && !further.empty() &&
                                   std::ranges::all_of(further, sums_rows));
      });
    });
  }

  bool only_reduced(const Node& node) const {
    const auto& users = users_[size_t(node.id)];
    return !users.empty() && std::ranges::all_of(users, [](const Node* user) {
      return user->is(ops::sum) || user->is(ops::max);
    });
  }

  /// Whether the node reads an operand of the cluster's product that has no rows: the right one, or
  /// a transposed left one. The product is the first member.
  static bool reads_matrix(const Node& node, const Cluster& cluster) {
    const Node& product = *cluster.members.front();
    const auto reads = [&](Value value) {
      return std::ranges::find(node.operands, value) != node.operands.end();
    };
    return reads(product.operands[1]) ||
           (product.attributes.get_bool("transpose_a", false) && reads(product.operands[0]));
  }

  static Reduces reduces(const Node& node) {
    if (is_inner_reduction(node)) return Reduces::over_rows;
    return is_row_reduction(node) ? Reduces::along_rows : Reduces::nothing;
  }
  static bool agree(Reduces a, Reduces b) {
    return a == b || a == Reduces::nothing || b == Reduces::nothing;
  }
  /// Whether the node reads what the cluster reduces over rows: it is there only after the last.
  static bool reads_inner_reduction(const Node& node, const Cluster& cluster) {
    return cluster.reduces == Reduces::over_rows &&
           std::ranges::any_of(node.operands, [&](Value operand) {
             return is_inner_reduction(*operand.node) &&
                    std::ranges::find(cluster.members, operand.node) != cluster.members.end();
           });
  }

  bool agrees(const Node& node, const Cluster& cluster) const {
    if (cluster.closed || has_no_elements(node)) return false;
    if (cluster.product && (reduces(node) != Reduces::nothing || reads_matrix(node, cluster)))
      return false;
    if (!agree(cluster.reduces, reduces(node)) || reads_inner_reduction(node, cluster))
      return false;
    if (cluster.product && !apart_.empty() && apart_[size_t(node.id)]) return false;
    const Shape& domain = domain_of(node);
    if (domain.rank() == 0) return cluster.lead.rank() == 0 && cluster.columns.unit == 0;
    return rows_of(domain) == cluster.lead && joined(cluster.columns, columns_of(node)).has_value();
  }

  bool join(const Node& node, int index) {
    if (index < 0 || !agrees(node, result_.list[size_t(index)])) return false;
    Cluster& cluster = result_.list[size_t(index)];
    Cluster alone;
    alone.columns = columns_of(node);
    count(node, alone);
    if (!small_together(cluster, alone) || !spaces_.take(index, node)) return false;
    const int unit = order_.unit_of(*cluster.members.front());
    if (!order_.join(unit, node.id)) return false;
    index_[size_t(order_.unit_of(node))] = index;
    cluster.members.push_back(&node);
    if (reduces(node) != Reduces::nothing) cluster.reduces = reduces(node);
    spaces_.add(index, node);
    add_sizes(cluster, alone);
    return true;
  }

  static void count(const Node& node, Cluster& cluster) {
    const int64_t width = std::max(columns_of(node).widest, int64_t{1});
    (width > 1 ? cluster.wide : cluster.narrow) += emitted_instructions(node) * width;
  }

  /// Adds the columns and instructions of a cluster with consistent columns.
  static void add_sizes(Cluster& cluster, const Cluster& more) {
    cluster.columns = *joined(cluster.columns, more.columns);
    cluster.narrow += more.narrow;
    cluster.wide += more.wide;
  }

  static bool small_together(const Cluster& a, const Cluster& b) {
    const std::optional<ColumnUnit> columns = joined(a.columns, b.columns);
    if (!columns) return false;
    Cluster both;
    both.columns = *columns;
    both.narrow = a.narrow + b.narrow;
    both.wide = a.wide + b.wide;
    return both.instructions() <= kMostInstructions;
  }

  /// Moves all of cluster `from` into `into`; always returns true, so that attempts can be chained.
  bool merge(int into, int from) {
    if (into == from || into < 0 || from < 0) return true;
    Cluster &a = result_.list[size_t(into)], &b = result_.list[size_t(from)];
    if (a.closed || b.closed || a.lead != b.lead || b.members.empty()) return true;
    if (a.product || b.product || !small_together(a, b)) return true;
    const auto reads = [](const Cluster& reader, const Cluster& maker) {
      return std::ranges::any_of(reader.members, [&](const Node* member) {
        return reads_inner_reduction(*member, maker);
      });
    };
    if (!agree(a.reduces, b.reduces) || reads(a, b) || reads(b, a)) return true;
    if (!spaces_.take_all(into, from)) return true;
    const int of_a = order_.unit_of(*a.members.front()), of_b = order_.unit_of(*b.members.front());
    if (!order_.join(of_a, of_b)) return true;
    index_[size_t(order_.unit_of(*a.members.front()))] = into;
    spaces_.add_all(into, from);
    add_sizes(a, b);
    if (b.reduces != Reduces::nothing) a.reduces = b.reduces;
    // Copy the shorter list.
    if (b.members.size() > a.members.size()) a.members.swap(b.members);
    a.members.insert(a.members.end(), b.members.begin(), b.members.end());
    b.members.clear();
    return true;
  }

  /// Merges clusters that have the same rows and need nothing of each other: in a step of few
  /// elements calling a nest takes as long as what it computes, and siblings often read the same
  /// matrix. Not sums over rows, whose registers are for one sweep.
  void join_siblings() {
    const auto may_join = [](const Cluster& cluster) {
      return !cluster.members.empty() && !cluster.closed && !cluster.product &&
             cluster.reduces != Reduces::over_rows;
    };
    const int count = int(result_.list.size());
    for (int into = 0; into < count; ++into) {
      for (int from = into + 1; from < count; ++from) {
        const Cluster &a = result_.list[size_t(into)], &b = result_.list[size_t(from)];
        if (may_join(a) && may_join(b) && moving_together(into, from) <= kMostMoving)
          merge(into, from);
      }
    }
  }

  /// The values of full rows that a kernel of both clusters reads from memory or stores.
  size_t moving_together(int a, int b) {
    std::set<uint64_t> moving;
    for (int index : {a, b}) {
      const Cluster& cluster = result_.list[size_t(index)];
      const auto is_full = [&](Value value) {
        return width_of(value.shape()) > 1 && value.shape().rank() > 0 &&
               rows_of(value.shape()) == cluster.lead;
      };
      const auto add = [&](Value value) {
        if (is_full(value)) moving.insert(uint64_t(value.node->id) << 32 | uint64_t(value.index));
      };
      for (const Node* member : cluster.members) {
        for (Value operand : member->operands) {
          if (cluster_of(*operand.node) != index) add(operand);
        }
        const auto& users = users_[size_t(member->id)];
        const bool stored =
            is_root_[size_t(member->id)] || std::ranges::any_of(users, [&](const Node* user) {
              return cluster_of(*user) != index;
            });
        for (int i = 0; stored && i < member->results(); ++i) add(member->result(i));
      }
    }
    return moving.size();
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
  const bool fuse_, siblings_;
  const std::vector<bool> apart_, live_;
  std::vector<std::vector<const Node*>> users_;
  std::vector<bool> is_root_;
  ClusterOrder order_;
  ClusterSpaces spaces_;
  std::vector<int> index_;  // from a unit of the order to its cluster; -1: none
  Clusters result_;
};

}  // namespace

int64_t emitted_instructions(const Node& node) {
  if (!is_elementwise(node.op)) return 1;
  int64_t instructions = 0;
  // What is read counts too.
  for (const ScalarInstruction& in : scalar_code(node).code)
    instructions += std::max(cost_of(in.op), 1);
  return instructions;
}

Clusters find_clusters(const Graph& graph, const ClusterOptions& options) {
  Clusters clusters = Clustering(graph, options).run();
  if (!options.fuse) return clusters;
  std::vector<bool> apart = better_with_readers(graph, clusters);
  if (std::ranges::find(apart, true) == apart.end()) return clusters;
  return Clustering(graph, options, std::move(apart)).run();
}

}  // namespace graphc::core
