// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/column_spaces.h"

#include <algorithm>
#include <array>

namespace graphc::core {

bool is_whole_parts(int64_t width, int64_t unit) {
  return unit == 0 || (width % unit == 0 && width / unit <= kMostParts);
}

void ColumnUnit::add(int64_t width) {
  if (width == 0) return;
  unit = unit == 0 ? width : std::min(unit, width);
  widest = std::max(widest, width);
}

void ColumnUnit::add(const ColumnUnit& other) {
  add(other.unit);
  widest = std::max(widest, other.widest);
}

std::optional<ColumnUnit> joined(std::span<const ColumnUnit> all) {
  ColumnUnit result;
  for (const ColumnUnit& columns : all) result.add(columns);
  // If the unit consists of whole parts, so do its multiples; the widest has the most.
  const auto agrees = [&](const ColumnUnit& columns) {
    return result.unit == 0 || columns.unit % result.unit == 0;
  };
  if (!std::ranges::all_of(all, agrees) || !is_whole_parts(result.widest, result.unit))
    return std::nullopt;
  return result;
}

std::optional<ColumnUnit> joined(const ColumnUnit& a, const ColumnUnit& b) {
  return joined(std::array{a, b});
}

int ColumnSpaces::add(int64_t width) {
  parent_.push_back(int(parent_.size()));
  columns_.emplace_back().add(width);
  return parent_.back();
}

int ColumnSpaces::find(int element) {
  while (parent_[size_t(element)] != element)
    element = parent_[size_t(element)] = parent_[size_t(parent_[size_t(element)])];
  return element;
}

int ColumnSpaces::join(int a, int b) {
  const int gone = find(a), kept = find(b);
  if (gone == kept) return kept;
  parent_[size_t(gone)] = kept;
  columns_[size_t(kept)].add(columns_[size_t(gone)]);
  return kept;
}

}  // namespace graphc::core
