// SPDX-License-Identifier: Apache-2.0
// Constants, and ops that only move data.
#include <cmath>
#include <cstring>

#include "ir/evaluate_ops.h"
#include "ir/op.h"

namespace graphc::core::evaluation {
namespace {

/// The joined extents before and after `axis`.
struct Split {
  Split(const Shape& shape, int axis) {
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  }
  int64_t outer = 1, inner = 1;
};

void store(Array& target, int64_t index, double value) {
  if (target.floating()) {
    target.floats()[index] = value;
  } else {
    target.integers()[index] = truncated(value);
  }
}
void store(Array& target, int64_t index, int64_t value) {
  if (target.floating()) {
    target.floats()[index] = double(value);
  } else {
    target.integers()[index] = value;
  }
}

void round_or_wrap(Array& array, Precision precision) {
  if (array.floating()) {
    round_floats(array.dtype(), precision, array.floats(), array.elements());
  } else {
    wrap_integers(array.dtype(), array.integers(), array.elements());
  }
}

}  // namespace

StridedView::StridedView(const Array& array, const Shape& shape, std::span<const int64_t> strides)
    : source_(array.bytes()), rank_(std::max(shape.rank(), 1)) {
  extents_[0] = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    extents_[size_t(axis)] = shape[axis];
    strides_[size_t(axis)] = strides[size_t(axis)];
  }
}

StridedView StridedView::broadcast(const Array& array, const Shape& shape) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  const auto own = array.shape().strides();
  const int missing = shape.rank() - array.shape().rank();
  for (int axis = missing; axis < shape.rank(); ++axis) {
    const bool repeated = array.shape()[axis - missing] == 1;
    strides[size_t(axis)] = repeated ? 0 : own[size_t(axis - missing)];
  }
  return {array, shape, strides};
}

void StridedView::read(int64_t start, int64_t count, std::byte* target) const {
  if (count == 0) return;
  std::array<int64_t, Shape::kMaxRank> index{};
  int64_t offset = 0, rest = start;
  for (size_t axis = size_t(rank_); axis-- > 0;) {
    index[axis] = rest % extents_[axis];
    rest /= extents_[axis];
    offset += index[axis] * strides_[axis];
  }
  const auto* source = reinterpret_cast<const uint64_t*>(source_);
  auto* out = reinterpret_cast<uint64_t*>(target);
  const size_t last = size_t(rank_) - 1;
  while (true) {
    const int64_t run = std::min(count, extents_[last] - index[last]);
    for (int64_t i = 0; i < run; ++i) out[i] = source[offset + i * strides_[last]];
    out += run;
    count -= run;
    if (count == 0) return;
    offset -= index[last] * strides_[last];
    index[last] = 0;
    for (size_t axis = last; axis-- > 0;) {
      offset += strides_[axis];
      if (++index[axis] < extents_[axis]) break;
      offset -= extents_[axis] * strides_[axis];
      index[axis] = 0;
    }
  }
}

Array constant_of(const Node& node, Precision precision) {
  Array result(node.types[0]);
  const auto fill = [&](auto value) {
    for (int64_t i = 0; i < result.elements(); ++i) store(result, i, value);
  };
  const Attribute& value = *node.attributes.find("value");
  if (const auto* flag = std::get_if<bool>(&value)) fill(int64_t(*flag));
  if (const auto* number = std::get_if<int64_t>(&value)) fill(*number);
  if (const auto* number = std::get_if<double>(&value)) fill(*number);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    for (size_t i = 0; i < list->size(); ++i) store(result, int64_t(i), (*list)[i]);
  }
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    for (size_t i = 0; i < list->size(); ++i) store(result, int64_t(i), (*list)[i]);
  }
  round_or_wrap(result, precision);
  return result;
}

Array iota_of(const Node& node, Precision precision) {
  Array result(node.types[0]);
  const bool along_axis = node.attributes.find("axis") != nullptr;
  const int axis = int(node.attributes.get_int("axis", 0));
  const int64_t inner = along_axis ? Split(result.shape(), axis).inner : 1;
  const int64_t extent = along_axis ? result.shape()[axis] : result.elements();
  for (int64_t i = 0; i < result.elements(); ++i) store(result, i, i / inner % extent);
  round_or_wrap(result, precision);
  return result;
}

Array transpose_of(const Node& node, const Array& x) {
  Array result(node.types[0]);
  const auto own = x.shape().strides();
  std::vector<int64_t> strides;
  for (int64_t axis : node.attributes.get_ints("permutation")) {
    strides.push_back(own[size_t(axis)]);
  }
  StridedView(x, result.shape(), strides).read(0, result.elements(), result.bytes());
  return result;
}

Array broadcast_of(const Array& x, const Type& type) {
  Array result(type);
  StridedView::broadcast(x, type.shape).read(0, result.elements(), result.bytes());
  return result;
}

Array slice_of(const Array& x, int axis, int64_t start, int64_t extent) {
  const Type type{x.dtype(), x.shape().with(axis, extent)};
  const Split around(x.shape(), axis);
  if (around.outer == 1) return x.view(type, start * around.inner);
  Array result(type);
  const int64_t bytes = extent * around.inner * kElementBytes;
  for (int64_t row = 0; row < around.outer; ++row) {
    std::memcpy(result.bytes() + row * bytes,
                x.bytes() + (row * x.shape()[axis] + start) * around.inner * kElementBytes,
                size_t(bytes));
  }
  return result;
}

Array concat_of(ArrayOperands parts, int axis, const Type& type) {
  Array result(type);
  const Split around(type.shape, axis);
  int64_t start = 0;
  for (const Array& part : parts) {
    const int64_t extent = part.shape()[axis];
    const int64_t bytes = extent * around.inner * kElementBytes;
    for (int64_t row = 0; row < around.outer; ++row) {
      std::memcpy(result.bytes() + (row * type.shape[axis] + start) * around.inner * kElementBytes,
                  part.bytes() + row * bytes, size_t(bytes));
    }
    start += extent;
  }
  return result;
}

namespace {

/// Copies every element of `x` to an offset that advances by `strides` (in elements) along its
/// axes.
void copy_elements(const Array& x, const std::vector<int64_t>& strides, int64_t offset, Array& to) {
  const Shape& shape = x.shape();
  std::vector<int64_t> index(strides.size(), 0);
  for (int64_t i = 0; i < x.elements(); ++i) {
    std::memcpy(to.bytes() + offset * kElementBytes, x.bytes() + i * kElementBytes, kElementBytes);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      offset += strides[size_t(axis)];
      if (++index[size_t(axis)] < shape[axis]) break;
      offset -= shape[axis] * strides[size_t(axis)];
      index[size_t(axis)] = 0;
    }
  }
}

}  // namespace

Array pad_of(const Node& node, const Array& x, Precision precision) {
  Array result(node.types[0]);
  const Attribute* given = node.attributes.find("value");
  const Numeral value = given == nullptr ? Numeral(0) : Numeral::of(*given);
  for (int64_t i = 0; i < result.elements(); ++i) {
    if (result.floating()) {
      result.floats()[i] = value.as_double();
    } else {
      result.integers()[i] = value.as_integer();
    }
  }
  // Round the padding now; below only elements of the operand follow.
  round_or_wrap(result, precision);
  const auto strides = result.shape().strides();
  const std::vector<int64_t> low = node.attributes.get_ints("low");
  int64_t offset = 0;
  for (size_t axis = 0; axis < low.size(); ++axis) offset += low[axis] * strides[axis];
  copy_elements(x, {strides.begin(), strides.begin() + x.shape().rank()}, offset, result);
  return result;
}

Array reverse_of(const Node& node, const Array& x) {
  Array result(node.types[0]);
  const auto forward = x.shape().strides();
  std::vector<int64_t> strides(forward.begin(), forward.begin() + x.shape().rank());
  int64_t offset = 0;
  for (int64_t axis : node.attributes.get_ints("axes")) {
    offset += (x.shape()[int(axis)] - 1) * strides[size_t(axis)];
    strides[size_t(axis)] = -strides[size_t(axis)];
  }
  copy_elements(x, strides, offset, result);
  return result;
}

}  // namespace graphc::core::evaluation
