// SPDX-License-Identifier: Apache-2.0
// Divides the axes of a loop's step into parts, so that each reshape of the step only regroups
// parts (split_axes.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/scan.h"

namespace graphc::core {

/// A part of an axis. The parts of an axis stand in their order, the outermost first.
struct AxisPart {
  int64_t extent = 1;
  int group = -1;  ///< if it is unpacked, an index into AxisParts::unpacked()
};

/// The axes of a step's values in parts. Where a reshape makes [heads, n] of an axis, that axis is
/// in two parts, and so is every axis whose elements an op pairs with its elements. Parts that an
/// op pairs are one *group*. A group is *unpacked* where the step takes single elements along it:
/// the gates of [gates, n]. Each element is then a value of its own.
class AxisParts {
 public:
  /// The parts of a loop's axes. Nothing if no division gives every reshape of its step the same
  /// parts on both sides; `why_not` then says what prevents it.
  static std::optional<AxisParts> of(const Scan& scan, std::string* why_not);

  /// The parts of an axis; one where it is not divided.
  std::vector<AxisPart> of_axis(Value value, int axis) const;
  /// Those of all axes of a value, in their order.
  std::vector<AxisPart> of_value(Value value) const;
  /// The extents of the unpacked groups.
  const std::vector<int64_t>& unpacked() const { return unpacked_; }
  /// Whether any axis is divided or unpacked.
  bool divides() const { return divides_; }
  /// Whether the value is a capture whose only use is as the right operand of products. Its last
  /// two axes stay two: their unpacked parts come first in them.
  bool is_matrix(Value value) const { return matrix_[size_t(value.node->id)]; }

 private:
  friend class PartAnalysis;
  AxisParts() = default;

  std::vector<size_t> first_axis_;            ///< by node, of its first result: index into `parts_`
  std::vector<std::vector<AxisPart>> parts_;  ///< by axis
  std::vector<int64_t> unpacked_;
  std::vector<bool> matrix_;  ///< by node
  bool divides_ = false;
};

}  // namespace graphc::core
