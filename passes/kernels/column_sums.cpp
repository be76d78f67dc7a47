// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/column_sums.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/op.h"
#include "passes/kernels/fuse.h"
#include "passes/kernels/row_model.h"

namespace graphc::core {
namespace {

/// The maximum number of values whose rows a kernel of sums reads: the CPU emitter processes four
/// rows of each at a time.
constexpr size_t kMostRead = 4;
/// The maximum number of instructions, which are repeated for each of those rows.
constexpr int64_t kMostSummed = 32;

class ColumnSums {
 public:
  explicit ColumnSums(const ClusterState& state) : s_(state), is_root_(s_.graph.nodes().size()) {
    for (Value root : s_.graph.roots()) is_root_[size_t(root.node->id)] = true;
  }

  void run() {
    for (const Node& node : s_.graph.nodes()) {
      if (!is_column_sum(node) || cluster_of(node) < 0) continue;
      sums_.push_back(&node);
      take_what_it_sums(node);
    }
    for (const Node* sum : sums_) join_those_that_read_the_same(*sum);
  }

 private:
  using Key = std::pair<int, int>;  // node, result
  static Key key_of(Value value) { return {value.node->id, value.index}; }

  int cluster_of(const Node& node) const { return s_.index[size_t(s_.order.unit_of(node))]; }
  Cluster& cluster(int index) const { return s_.clusters.list[size_t(index)]; }
  const std::vector<const Node*>& users_of(const Node& node) const {
    return s_.users[size_t(node.id)];
  }

  /// The column sum that `user` is, or is a view for; null if there is none.
  const Node* sum_behind(const Node& user) const {
    if (is_column_sum(user)) return &user;
    if (!is_view(user) || is_root_[size_t(user.id)] || users_of(user).size() != 1) return nullptr;
    const Node& behind = *users_of(user).front();
    return is_column_sum(behind) ? &behind : nullptr;
  }

  /// Whether only `sum` reads the value, directly or through its view.
  bool read_by_it_alone(const Node& node, const Node& sum) const {
    return !is_root_[size_t(node.id)] && users_of(node).size() == 1 &&
           sum_behind(*users_of(node).front()) == &sum;
  }

  /// Whether a value is a flattened matrix of this shape, has one number per row or per column, or
  /// is a scalar.
  static bool fits(Value value, const Shape& shape) {
    if (value.shape().rank() == 0) return true;
    if (value.node->is(ops::constant) || value.node->is(ops::iota)) return false;
    return value.shape() == shape || value.shape() == shape.with(-1, 1) ||
           (value.shape().rank() == 1 && value.shape()[0] == shape[-1]);
  }

  /// The column sums that read the cluster's results, if nothing else does and the cluster is a
  /// little elementwise work on matrices of one shape; otherwise empty.
  std::vector<const Node*> sums_of(int index, const Shape& shape) const {
    const Cluster& from = cluster(index);
    if (from.closed || from.product || from.instructions() > kMostSummed) return {};
    std::vector<const Node*> sums;
    for (const Node* member : from.members) {
      if (!is_elementwise(member->op) || is_root_[size_t(member->id)]) return {};
      if (!fits(member->result(), shape) ||
          !std::ranges::all_of(member->operands,
                               [&](Value operand) { return fits(operand, shape); }))
        return {};
      for (const Node* user : users_of(*member)) {
        if (cluster_of(*user) == index) continue;
        const Node* sum = sum_behind(*user);
        if (sum == nullptr || summed_by(*sum) != member->result()) return {};
        sums.push_back(sum);
      }
    }
    return sums;
  }

  /// Moves the sum's operand, and the other sums that read it, into the sum's cluster. If that
  /// fails halfway, sums stay where they are and read the stored value.
  void take_what_it_sums(const Node& sum) {
    const Value top = summed_by(sum);
    const int from = cluster_of(*top.node), into = cluster_of(sum);
    if (from < 0 || from == into || read_by(top.shape(), from).size() > kMostRead) return;
    const std::vector<const Node*> sums = sums_of(from, top.shape());
    const bool joined = std::ranges::all_of(sums, [&](const Node* reader) {
      return take_view(*reader) && merge(into, cluster_of(*reader));
    });
    if (joined && !sums.empty()) merge(into, from);
  }

  /// Makes the view, if any, a member.
  bool take_view(const Node& sum) {
    const Node& view = *sum.operands[0].node;
    if (summed_by(sum) == sum.operands[0] || cluster_of(view) == cluster_of(sum)) return true;
    const int index = cluster_of(sum);
    if (cluster_of(view) >= 0 || !s_.order.join(s_.order.unit_of(view), s_.order.unit_of(sum)))
      return false;
    s_.index[size_t(s_.order.unit_of(sum))] = index;
    cluster(index).members.push_back(&view);
    return true;
  }

  /// Moves all of cluster `from` into `into`, unless one reads a sum of the other: that sum is
  /// complete only at the end of the kernel.
  bool merge(int into, int from) {
    if (into == from) return true;
    if (reads_sum_of(into, from) || reads_sum_of(from, into)) return false;
    Cluster &a = cluster(into), &b = cluster(from);
    if (!s_.order.join(s_.order.unit_of(*a.members.front()), s_.order.unit_of(*b.members.front())))
      return false;
    s_.index[size_t(s_.order.unit_of(*a.members.front()))] = into;
    a.members.insert(a.members.end(), b.members.begin(), b.members.end());
    b.members.clear();
    return true;
  }

  /// The values that a cluster reads row by row: those of its iteration shape.
  std::set<Key> read_by(const Shape& shape, int index) const {
    std::set<Key> read;
    const auto look_at = [&](Value value) {
      if (value.shape() == shape && cluster_of(*value.node) != index) read.insert(key_of(value));
    };
    for (const Node* member : cluster(index).members) {
      if (is_column_sum(*member)) {
        look_at(summed_by(*member));
      } else if (!is_view(*member)) {
        for (Value operand : member->operands) look_at(operand);
      }
    }
    return read;
  }

  /// Whether a member of one cluster reads a sum in the other.
  bool reads_sum_of(int reader, int maker) const {
    return std::ranges::any_of(cluster(reader).members, [&](const Node* member) {
      return std::ranges::any_of(member->operands, [&](Value operand) {
        return is_column_sum(*operand.node) && cluster_of(*operand.node) == maker;
      });
    });
  }

  void join_those_that_read_the_same(const Node& sum) {
    const Value top = summed_by(sum);
    // A view with other readers stays outside, so the value behind it is not read by this sum
    // alone.
    if (top != sum.operands[0] && !read_by_it_alone(*sum.operands[0].node, sum)) return;
    const int index = cluster_of(sum);
    const std::set<Key> read = read_by(top.shape(), index);
    for (const Key& key : read) {
      const Node& other = *first_reader_.try_emplace({key, top.shape()}, &sum).first->second;
      const int into = cluster_of(other);
      if (into == index) continue;
      std::set<Key> all = read_by(top.shape(), into);
      all.insert(read.begin(), read.end());
      if (all.size() > kMostRead) continue;
      if (!take_view(other) || !take_view(sum) || !merge(into, index)) continue;
      for (const Key& more : all) first_reader_.try_emplace({more, top.shape()}, &sum);
      return;
    }
  }

  const ClusterState& s_;
  std::vector<bool> is_root_;
  std::vector<const Node*> sums_;
  struct Less {
    bool operator()(const std::pair<Key, Shape>& a, const std::pair<Key, Shape>& b) const {
      return a.first != b.first ? a.first < b.first
                                : std::ranges::lexicographical_compare(a.second, b.second);
    }
  };
  std::map<std::pair<Key, Shape>, const Node*, Less> first_reader_;  // a sum of its cluster
};

}  // namespace

bool is_column_sum(const Node& node) {
  if (!node.is(ops::sum) || node.attributes.get_bool("keep", false)) return false;
  const Shape& shape = node.operands[0].shape();
  return shape.rank() == 2 && shape.elements() > 0 && shape[1] > 1 &&
         node.attributes.get_ints("axes") == std::vector<int64_t>{0};
}

Value summed_by(const Node& column_sum) {
  const Value matrix = column_sum.operands[0];
  if (!matrix.node->is(ops::reshape)) return matrix;
  const Value whole = matrix.node->operands[0];
  return whole.shape().rank() > 1 && whole.shape()[-1] == matrix.shape()[1] ? whole : matrix;
}

void join_column_sums(const ClusterState& state) { ColumnSums(state).run(); }

}  // namespace graphc::core
