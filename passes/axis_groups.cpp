// SPDX-License-Identifier: Apache-2.0
#include "passes/axis_groups.h"

#include <algorithm>
#include <numeric>

namespace graphc::core {

std::vector<int> AxisGroups::places_of(Value value) const {
  std::vector<int> places;
  const size_t first = first_axis_[size_t(value.node->id)];
  for (int axis = 0; axis < value.shape().rank(); ++axis) {
    if (value.shape()[axis] != 1) places.push_back(place_[first + size_t(axis)]);
  }
  return places;
}

int AxisGroups::place_of(Value value, int axis) const {
  const size_t first = first_axis_[size_t(value.node->id)];
  return has_rows_[size_t(value.node->id)] ? place_[first + size_t(axis)] : 0;
}

std::vector<int> AxisGroups::repeats_of(Value value) const {
  const std::vector<int> places = places_of(value);
  std::vector<int> rows;
  for (int row = 0; row < rows_.rank(); ++row) {
    if (rows_[row] != 1 && std::ranges::find(places, row) == places.end()) rows.push_back(row);
  }
  return rows;
}

Shape AxisGroups::shape_of(Value value) const {
  if (is_matrix(value)) {
    Shape matrix = value.shape();
    for (int axis = matrix.rank() - 3; axis >= 0; --axis) {
      if (matrix[axis] == 1) matrix = matrix.without(axis);
    }
    return matrix;
  }
  if (is_repeated(value)) return rows_.insert(rows_.rank(), 1);
  const bool rows = has_rows_[size_t(value.node->id)];
  std::vector<int64_t> extents(rows ? size_t(rows_.rank()) + 1 : 0, 1);
  size_t next = 0;
  const std::vector<int> places = places_of(value);
  for (int axis = 0; axis < value.shape().rank(); ++axis) {
    if (value.shape()[axis] == 1) continue;
    const int place = places[next++];
    if (extents.empty()) extents.push_back(1);
    extents[rows ? size_t(place) : 0] = value.shape()[axis];
  }
  return Shape(extents);
}

std::vector<int> AxisGroups::order_of(Value value) const {
  const std::vector<int> places = places_of(value);
  std::vector<int> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int axis) { return places[size_t(axis)]; });
  return order;
}

}  // namespace graphc::core
