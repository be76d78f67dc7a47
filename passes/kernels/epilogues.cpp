// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/epilogues.h"

#include <algorithm>

#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/kernels/fuse.h"
#include "passes/kernels/kernel.h"
#include "passes/kernels/row_model.h"

namespace graphc::core {
namespace {

class Epilogues {
 public:
  Epilogues(const Graph& graph, const Clusters& clusters)
      : clusters_(clusters),
        users_(graph.nodes().size()),
        kept_(graph.nodes().size()),
        is_root_(graph.nodes().size()),
        moved_(graph.nodes().size()) {
    const std::vector<bool> live = live_nodes(graph);
    for (const Node& node : graph.nodes()) {
      if (!live[size_t(node.id)]) continue;
      for (Value operand : node.operands) users_[size_t(operand.node->id)].push_back(&node);
    }
    for (Value root : graph.roots()) is_root_[size_t(root.node->id)] = true;
  }

  std::vector<bool> run() {
    for (size_t i = 0; i < clusters_.list.size(); ++i) {
      if (clusters_.list[i].product && clusters_.list[i].members.size() > 1) look_at(int(i));
    }
    return std::move(moved_);
  }

 private:
  int cluster_of(const Node& node) const { return clusters_.of[size_t(node.id)]; }
  static int64_t bytes(const Node& node) { return node.types[0].bytes(); }

  bool is_stored(const Node& node) const {
    return is_root_[size_t(node.id)] ||
           std::ranges::any_of(users_[size_t(node.id)], [&](const Node* user) {
             return cluster_of(*user) != cluster_of(node);
           });
  }

  /// Whether the readers of the stored value are in one kernel that could compute it from the same
  /// operands.
  bool readers_could_make(const Node& node) const {
    if (is_root_[size_t(node.id)] || !is_elementwise(node.op)) return false;
    int readers = -1;
    return std::ranges::all_of(users_[size_t(node.id)], [&](const Node* user) {
      const int cluster = cluster_of(*user);
      if (cluster == cluster_of(node)) return true;
      if (cluster < 0 || clusters_.list[size_t(cluster)].product) return false;
      if (readers >= 0 && readers != cluster) return false;
      readers = cluster;
      return (is_elementwise(user->op) || is_row_reduction(*user)) &&
             domain_of(*user) == node.types[0].shape;
    });
  }

  void look_at(int index) {
    const Cluster& cluster = clusters_.list[size_t(index)];
    std::vector<const Node*> movable;
    int64_t moved_bytes = 0;
    for (const Node* member : cluster.members) {
      kept_[size_t(member->id)] = member->is(ops::matmul);
      if (!is_stored(*member)) continue;
      if (readers_could_make(*member)) {
        movable.push_back(member);
        moved_bytes += bytes(*member);
      } else {
        kept_[size_t(member->id)] = true;
      }
    }
    if (movable.empty()) return;
    keep_what_is_needed(cluster);
    // Values that must be stored instead: kept values read only by dropped ones.
    int64_t stored_bytes = 0;
    for (const Node* member : cluster.members) {
      if (!kept_[size_t(member->id)] || is_stored(*member)) continue;
      const auto& users = users_[size_t(member->id)];
      if (std::ranges::any_of(users, [&](const Node* user) { return !kept_[size_t(user->id)]; }))
        stored_bytes += bytes(*member);
    }
    for (const Node* member : movable)
      moved_bytes -= kept_[size_t(member->id)] ? bytes(*member) : 0;
    if (stored_bytes >= moved_bytes) return;
    for (const Node* member : cluster.members)
      moved_[size_t(member->id)] = !kept_[size_t(member->id)];
  }

  /// Keeps the operands of kept members. Members are in the graph's order.
  void keep_what_is_needed(const Cluster& cluster) {
    for (auto member = cluster.members.rbegin(); member != cluster.members.rend(); ++member) {
      if (!kept_[size_t((*member)->id)]) continue;
      for (Value operand : (*member)->operands) {
        if (cluster_of(*operand.node) == cluster_of(**member))
          kept_[size_t(operand.node->id)] = true;
      }
    }
  }

  const Clusters& clusters_;
  std::vector<std::vector<const Node*>> users_;
  std::vector<bool> kept_, is_root_, moved_;
};

}  // namespace

std::vector<bool> better_with_readers(const Graph& graph, const Clusters& clusters) {
  return Epilogues(graph, clusters).run();
}

}  // namespace graphc::core
