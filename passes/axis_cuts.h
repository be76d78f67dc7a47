// SPDX-License-Identifier: Apache-2.0
// Where the axes of the values of a loop's step are divided (axis_parts.h).
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/scan.h"

namespace graphc::core {

/// Of an axis with elements in C order, the distances at which its parts begin: {128} divides 512
/// elements in [4, 128]. Each divides the next, and the extent.
using Cuts = std::set<int64_t>;

/// The axis of a slice, split or concatenation; ops refuse negative ones.
int cut_axis(const Node& node);

/// Of a value, the elements from `start` on along the axis of a slice, split or concatenation.
struct AxisPiece {
  Value all, part;
  int64_t start = 0;
};
/// Those of a node: a slice has one, a split one for each result, a concatenation for each operand;
/// other nodes have none.
std::vector<AxisPiece> pieces_of(const Node& node);

/// Whether the node sums, or the like, over {axes}, and may do so over parts of them.
bool reduces_axes(const Node& node);

/// The axes of a step's values in classes: two axes are in one class if an op pairs their elements,
/// or if one is a carry's and the other its next value's. Each class is cut where a reshape of the
/// step cuts it.
class AxisCuts {
 public:
  explicit AxisCuts(const Scan& scan);

  /// Why the axes cannot be cut; empty if they can. If not empty, call no other member.
  const std::string& fault() const { return fault_; }

  /// The number of an axis. Of every node the axes of the first result stand for those of all.
  size_t number_of(Value value, int axis) const;
  /// The class of an axis: the number of one of its axes.
  size_t class_of(Value value, int axis) const { return find(number_of(value, axis)); }
  const Cuts& cuts(size_t axis_class) const { return cuts_[axis_class]; }
  /// Whether a node needs the axes of a class as they are.
  bool is_whole(size_t axis_class) const { return whole_[axis_class] != nullptr; }
  /// Whether the value is a capture whose only use is as the right operand of products.
  bool is_matrix(Value value) const { return matrix_[size_t(value.node->id)]; }

 private:
  void number_axes();
  void find_matrices();
  void pair(const Node& node);
  void pair_reduction(const Node& node);
  void pair_product(const Node& node);
  void pair_equal(Value a, Value b);
  void pair_last(Value from, Value to);
  void join(Value a, int axis, Value b, int other);
  void keep_whole(const Node& node, Value value, int axis);
  void keep_whole(const Node& node, Value value);
  size_t find(size_t axis) const;

  void divide();
  void divide_reshape(const Node& node);
  void divide_piece(const Node& node, const AxisPiece& piece);
  void cut(const Node& node, Value value, int axis, int64_t distance);
  void add_distances(Value value, Cuts& all) const;

  void refuse(const Node& node, std::string_view what);
  template <typename Visit>
  void each_node(const Visit& visit);

  const Scan& scan_;
  std::vector<bool> live_;
  std::vector<size_t> first_axis_;      ///< by node, of its first result
  mutable std::vector<size_t> parent_;  ///< by axis
  std::vector<Cuts> cuts_;              ///< by class
  std::vector<const Node*> whole_;      ///< by class: what needs it as it is
  std::vector<bool> matrix_;            ///< by node
  bool changed_ = false;
  std::string fault_;
};

}  // namespace graphc::core
