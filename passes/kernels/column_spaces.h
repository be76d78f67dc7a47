// SPDX-License-Identifier: Apache-2.0
// Column spaces: sets of values whose columns are joined by local nodes, each with a unit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace graphc::core {

/// The maximum number of parts of a unit, limited by registers and code size.
inline constexpr int64_t kMostParts = 64;

/// Whether a width is a whole number of parts of a unit, and not too many. A width of 0 has no unit
/// (0) and imposes no constraint.
bool is_whole_parts(int64_t width, int64_t unit);

/// The widths of values that one nest computes together.
struct ColumnUnit {
  int64_t unit = 0;    ///< the smallest; 0 if there is none
  int64_t widest = 0;  ///< the largest

  /// Adds a width, whether or not it fits; 0 is ignored.
  void add(int64_t width);
  void add(const ColumnUnit& other);
};

/// The union, or nothing if some widths are not whole parts of the smallest unit. Each element is
/// consistent in itself. Not equivalent to pairwise checks: 12 and 8 agree if there is a 4.
std::optional<ColumnUnit> joined(std::span<const ColumnUnit> all);
std::optional<ColumnUnit> joined(const ColumnUnit& a, const ColumnUnit& b);

/// Disjoint sets of elements; each set has the unit of its widths.
class ColumnSpaces {
 public:
  /// Adds an element in a space of its own.
  int add(int64_t width);
  /// The representative of an element's space.
  int find(int element);
  /// The widths of an element's space.
  const ColumnUnit& columns_of(int element) { return columns_[size_t(find(element))]; }
  /// Merges two spaces; returns the result.
  int join(int a, int b);

 private:
  std::vector<int> parent_;
  std::vector<ColumnUnit> columns_;
};

}  // namespace graphc::core
