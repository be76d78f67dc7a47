// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/column_sums.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/op.h"
#include "passes/kernels/fuse.h"
#include "passes/kernels/row_model.h"

namespace graphc {
namespace {

/// Of so many values a kernel of sums reads the rows at most: the CPU's emitter goes along four
/// rows of each at a time.
constexpr size_t kMostRead = 4;
/// And it has so many instructions at most, which stand in it for each of those rows.
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

  /// Whether `sum` alone reads the value, itself or through its view.
  bool read_by_it_alone(const Node& node, const Node& sum) const {
    if (is_root_[size_t(node.id)] || users_of(node).size() != 1) return false;
    const Node& user = *users_of(node).front();
    if (&user == &sum) return true;
    return is_view(user) && users_of(user).size() == 1 && users_of(user).front() == &sum &&
           !is_root_[size_t(user.id)];
  }

  /// Whether rows and columns of an operand are those of a matrix of this shape flattened, or it
  /// has one number for each column, or is a number.
  static bool fits(Value operand, const Shape& shape) {
    const Node& node = *operand.node;
    if (operand.shape().rank() == 0) return true;
    if (node.is(ops::constant) || node.is(ops::iota)) return false;
    return operand.shape() == shape ||
           (operand.shape().rank() == 1 && operand.shape()[0] == shape[-1]);
  }

  /// Whether the whole cluster is elementwise work on matrices of one shape, little of it, that
  /// ends in `top`, which `sum` alone reads.
  bool can_move(int index, Value top, const Node& sum) const {
    const Cluster& from = cluster(index);
    if (from.closed || from.product || from.instructions() > kMostSummed) return false;
    return std::ranges::all_of(from.members, [&](const Node* member) {
      if (!is_elementwise(member->op) || member->types[0].shape != top.shape()) return false;
      if (!std::ranges::all_of(member->operands,
                               [&](Value operand) { return fits(operand, top.shape()); }))
        return false;
      if (member == top.node) return read_by_it_alone(*member, sum);
      return !is_root_[size_t(member->id)] &&
             std::ranges::all_of(users_of(*member),
                                 [&](const Node* user) { return cluster_of(*user) == index; });
    });
  }

  void take_what_it_sums(const Node& sum) {
    const Value top = summed_by(sum);
    const int from = cluster_of(*top.node), into = cluster_of(sum);
    if (from < 0 || !can_move(from, top, sum) || read_by(top.shape(), from).size() > kMostRead)
      return;
    if (take_view(sum)) merge(into, from);
  }

  /// The view becomes a member, if there is one.
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

  bool merge(int into, int from) {
    Cluster &a = cluster(into), &b = cluster(from);
    if (!s_.order.join(s_.order.unit_of(*a.members.front()), s_.order.unit_of(*b.members.front())))
      return false;
    s_.index[size_t(s_.order.unit_of(*a.members.front()))] = into;
    a.members.insert(a.members.end(), b.members.begin(), b.members.end());
    b.members.clear();
    return true;
  }

  /// What a cluster reads for each row: values of the shape that it works over.
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

  /// Whether a member of one cluster reads what the other makes, which a kernel of both would have
  /// in the middle.
  bool reads_result_of(int reader, int maker) const {
    return std::ranges::any_of(cluster(reader).members, [&](const Node* member) {
      return std::ranges::any_of(member->operands,
                                 [&](Value operand) { return cluster_of(*operand.node) == maker; });
    });
  }

  void join_those_that_read_the_same(const Node& sum) {
    const Value top = summed_by(sum);
    // A view that others read too stays outside: what lies behind it is nothing that this reads.
    if (top != sum.operands[0] && !read_by_it_alone(*sum.operands[0].node, sum)) return;
    const int index = cluster_of(sum);
    const std::set<Key> read = read_by(top.shape(), index);
    for (const Key& key : read) {
      const Node& other = *first_reader_.try_emplace({key, top.shape()}, &sum).first->second;
      const int into = cluster_of(other);
      if (into == index) continue;
      std::set<Key> all = read_by(top.shape(), into);
      all.insert(read.begin(), read.end());
      if (all.size() > kMostRead || reads_result_of(into, index) || reads_result_of(index, into))
        continue;
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

}  // namespace graphc
