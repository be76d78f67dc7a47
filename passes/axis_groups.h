// SPDX-License-Identifier: Apache-2.0
// Which axes of the values of a loop's step belong together, and the one order that all of them
// can have (align_axes.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/scan.h"

namespace graphc::core {

/// Whether the elements of an iota count along one of its axes, not through all of its elements.
bool counts_along_axis(const Node& iota);

/// The axes of a step's values in groups: two axes are in one group if an op pairs their elements,
/// or if one is a carry's and the other its next value's. A group is *columns* if some op
/// contracts, cuts or makes it (a product its result's last axis), else *rows*. Axes of extent 1
/// are in none.
class AxisGroups {
 public:
  /// The groups of a loop; nothing, and why, if a value of its step has two groups of columns or
  /// one group twice, or if an op does something else with axes. Right operands of products,
  /// matrices
  /// [..., k, n], must be captured; they stay as they are.
  static std::optional<AxisGroups> of(const Scan& scan, std::string* why_not);

  /// The extents of the groups of rows, in their order; of 1 behind them if products have a matrix
  /// for each of them.
  const Shape& rows() const { return rows_; }
  /// Whether the value is a matrix, with its own axes; those in front of the last two that are of
  /// extent 1 leave.
  bool is_matrix(Value value) const { return matrix_[size_t(value.node->id)]; }
  /// The shape of a value of the step in the common order: all rows, 1 where it has none of a
  /// group, and its columns; of what is the same in all rows, its columns alone. What is_repeated()
  /// has all rows.
  Shape shape_of(Value value) const;
  /// Whether the value is one number for some groups of rows, the same in the others, that the
  /// step computes with or carries: a mask of the batch where each head has a matrix. All rows of a
  /// kernel are alike, so each computes it for itself.
  bool is_repeated(Value value) const { return repeated_[size_t(value.node->id)]; }
  /// The rows over which what is_repeated() is the same.
  std::vector<int> repeats_of(Value value) const;
  /// The axis of shape_of() that an axis of the value, of another extent than 1, becomes.
  int place_of(Value value, int axis) const;
  /// Its axes of another extent than 1, numbered without the others, in the common order.
  std::vector<int> order_of(Value value) const;

 private:
  friend class AxisAnalysis;
  AxisGroups() = default;

  /// Of each axis of another extent than 1 of a value, its place: that of its group among the
  /// rows, or behind them for columns.
  std::vector<int> places_of(Value value) const;

  Shape rows_;
  std::vector<bool> matrix_;        ///< by node
  std::vector<bool> has_rows_;      ///< by node
  std::vector<bool> repeated_;      ///< by node
  std::vector<size_t> first_axis_;  ///< by node, of its first result: index into `place_`
  std::vector<int> place_;          ///< by axis
};

}  // namespace graphc::core
