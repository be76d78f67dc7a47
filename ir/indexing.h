// SPDX-License-Identifier: Apache-2.0
// Notation for parts and axes of a value: `x[0]`, `x[{.from = 1}]`, `sum(x, -1)`, `reshape(x, {8,
// -1})`. Negative axes and indices count from the end, as in Python.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "ir/error.h"
#include "ir/type.h"

namespace graphc::core {

/// An integer other than bool.
template <typename T>
concept Whole = std::integral<T> && !std::same_as<T, bool>;

/// An index along axis 0, with its source line.
struct Index {
  template <Whole T>
  Index(T number, Where line = Where::here()) : value(int64_t(number)), where(line) {}

  int64_t value;
  Where where;
};

/// Elements from `from` up to but excluding `until` along an axis: `x[{.from = 1, .until = -1}]` is
/// Python's `x[1:-1]`, `x[{.from = 2, .axis = -1}]` its `x[..., 2:]`. A bound outside the axis is
/// an error.
struct Slice {
  int64_t from = 0;
  std::optional<int64_t> until = {};
  int axis = 0;
  Where where = Where::here();
};

/// The axes of a reduction: one, several, or by default all.
class Axes {
 public:
  Axes() = default;
  template <Whole T>
  Axes(T axis) : axes_(std::vector<int64_t>{int64_t(axis)}) {}
  Axes(std::initializer_list<int64_t> axes) : axes_(axes) {}
  Axes(std::vector<int64_t> axes) : axes_(std::move(axes)) {}

  /// In ascending order, with negative axes resolved for `rank`; axes out of range are unchanged.
  std::vector<int64_t> of(int rank) const;

 private:
  std::optional<std::vector<int64_t>> axes_;
};

/// Resolves a negative axis for `rank`; an axis out of range is unchanged.
inline int axis_of(int axis, int rank) { return axis < 0 && axis >= -rank ? axis + rank : axis; }

/// A shape to reshape to; one extent may be -1, to be computed from the number of elements.
class NewShape {
 public:
  NewShape() = default;
  NewShape(const Shape& shape) : extents_(shape.begin(), shape.end()) {}
  NewShape(std::initializer_list<int64_t> extents) : extents_(extents) {}
  NewShape(std::vector<int64_t> extents) : extents_(std::move(extents)) {}

  /// The shape for a value of this type. Throws ErrorKind::input, at `where`, if no integer fits
  /// for -1.
  Shape of(const Type& type, Where where) const;

 private:
  std::vector<int64_t> extents_;
};

}  // namespace graphc::core
