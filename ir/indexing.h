// SPDX-License-Identifier: Apache-2.0
// How parts and axes of a value are written: `x[0]`, `x[{.from = 1}]`, `sum(x, -1)`,
// `reshape(x, {8, -1})`. Axes and indices below 0 count from the end, as in Python.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "ir/error.h"
#include "ir/type.h"

namespace graphc::core {

/// An integer that is no bool.
template <typename T>
concept Whole = std::integral<T> && !std::same_as<T, bool>;

/// An index along axis 0, with the line that wrote it.
struct Index {
  template <Whole T>
  Index(T number, Where line = Where::here()) : value(int64_t(number)), where(line) {}

  int64_t value;
  Where where;
};

/// Elements `from` up to, without, `until` along an axis: `x[{.from = 1, .until = -1}]` is Python's
/// `x[1:-1]`, `x[{.from = 2, .axis = -1}]` its `x[..., 2:]`. A bound outside the axis is an error.
struct Slice {
  int64_t from = 0;
  std::optional<int64_t> until = {};
  int axis = 0;
  Where where = Where::here();
};

/// The axes of a reduction: one, several, or all of them when nothing is said.
class Axes {
 public:
  Axes() = default;
  template <Whole T>
  Axes(T axis) : axes_(std::vector<int64_t>{int64_t(axis)}) {}
  Axes(std::initializer_list<int64_t> axes) : axes_(axes) {}
  Axes(std::vector<int64_t> axes) : axes_(std::move(axes)) {}

  /// Ascending, counted from the first of `rank` axes; one that is outside stays as it is.
  std::vector<int64_t> of(int rank) const;

 private:
  std::optional<std::vector<int64_t>> axes_;
};

/// An axis counted from the first of `rank`; one that is outside stays as it is.
inline int axis_of(int axis, int rank) { return axis < 0 && axis >= -rank ? axis + rank : axis; }

/// The shape that a value is brought to; one extent may be -1, for what is left of the elements.
class NewShape {
 public:
  NewShape() = default;
  NewShape(const Shape& shape) : extents_(shape.begin(), shape.end()) {}
  NewShape(std::initializer_list<int64_t> extents) : extents_(extents) {}
  NewShape(std::vector<int64_t> extents) : extents_(std::move(extents)) {}

  /// The shape for a value of the type. Throws ErrorKind::input, at `where`, when no whole number
  /// stands for -1.
  Shape of(const Type& type, Where where) const;

 private:
  std::vector<int64_t> extents_;
};

}  // namespace graphc::core
