// SPDX-License-Identifier: Apache-2.0
// Column spaces: sets of values whose columns local nodes join, each with its unit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace graphc::core {

/// As many parts of a unit as a kernel has registers and code for.
inline constexpr int64_t kMostParts = 64;

/// Whether a width is a whole number of parts of a unit, not too many. No elements have no unit
/// (0), and ask for nothing.
bool is_whole_parts(int64_t width, int64_t unit);

/// The widths of values that one nest computes together.
struct ColumnUnit {
  int64_t unit = 0;    ///< the smallest; 0 while there is none
  int64_t widest = 0;  ///< the largest

  /// Takes a width in, whether or not it agrees; 0 asks for nothing.
  void add(int64_t width);
  void add(const ColumnUnit& other);
};

/// All together, or nothing when the widths of one are no whole parts of the smallest unit. The
/// widths of each agree already. Not the same as two at a time: 12 and 8 agree where there is a 4.
std::optional<ColumnUnit> joined(std::span<const ColumnUnit> all);
std::optional<ColumnUnit> joined(const ColumnUnit& a, const ColumnUnit& b);

/// Disjoint sets of elements, each set with the unit of their widths.
class ColumnSpaces {
 public:
  /// A new element in a space of its own.
  int add(int64_t width);
  /// The space an element is in: one of its elements.
  int find(int element);
  /// The widths of an element's space.
  const ColumnUnit& columns_of(int element) { return columns_[size_t(find(element))]; }
  /// Makes one space of two. Returns it.
  int join(int a, int b);

 private:
  std::vector<int> parent_;
  std::vector<ColumnUnit> columns_;
};

}  // namespace graphc::core
