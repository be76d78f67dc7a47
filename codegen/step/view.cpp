// SPDX-License-Identifier: Apache-2.0
#include "codegen/step/view.h"

#include <algorithm>

#include "ir/mutant.h"
#include "ir/op.h"

namespace graphc::core {
namespace {

/// The view under a new shape of as many elements, if every new axis is a whole stretch of old
/// ones.
std::optional<View> reshaped(const View& view, const Shape& shape) {
  View result = view;
  result.shape = shape;
  result.strides = shape.strides();
  if (view.shape.elements() <= 1) return result;
  // Old axes of extent 1 say nothing; adjacent old axes that lie one after another count as one.
  std::array<int64_t, Shape::kMaxRank> extents{}, strides{};
  int old_rank = 0;
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    if (view.shape[axis] == 1) continue;
    if (old_rank > 0 &&
        strides[size_t(old_rank - 1)] == view.strides[size_t(axis)] * view.shape[axis]) {
      extents[size_t(old_rank - 1)] *= view.shape[axis];
      strides[size_t(old_rank - 1)] = view.strides[size_t(axis)];
    } else {
      extents[size_t(old_rank)] = view.shape[axis];
      strides[size_t(old_rank++)] = view.strides[size_t(axis)];
    }
  }
  int old_axis = old_rank - 1;
  int64_t left = old_axis >= 0 ? extents[size_t(old_axis)] : 1,
          stride = old_axis >= 0 ? strides[size_t(old_axis)] : 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    result.strides[size_t(axis)] = stride;
    if (shape[axis] == 1) continue;
    if (left % shape[axis] != 0) return std::nullopt;
    left /= shape[axis];
    stride *= shape[axis];
    if (left == 1 && --old_axis >= 0) {
      left = extents[size_t(old_axis)];
      stride = strides[size_t(old_axis)];
    }
  }
  return result;
}

View cut(const View& view, int axis, int64_t start, const Shape& shape) {
  View result = view;
  result.shape = shape;
  result.address = moved(view.address, start * view.strides[size_t(axis)] * size_of(view.dtype));
  return result;
}

View broadcasted(const View& view, const Shape& shape) {
  View result = view;
  result.shape = shape;
  result.strides = {};
  for (int i = 1; i <= view.shape.rank(); ++i) {
    const bool repeated = view.shape[-i] == 1 && shape[-i] != 1;
    const int rank = mutated(Mutant::broadcast_along_wrong_axis) ? view.shape.rank() : shape.rank();
    result.strides[size_t(rank - i)] = repeated ? 0 : view.strides[size_t(view.shape.rank() - i)];
  }
  return result;
}

}  // namespace

bool View::contiguous() const {
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && strides[size_t(axis)] != stride) return false;
    stride *= shape[axis];
  }
  return true;
}

View contiguous_view(int buffer, const Type& type) {
  View view;
  view.address.buffer = buffer;
  view.dtype = type.dtype;
  view.shape = type.shape;
  view.strides = type.shape.strides();
  return view;
}

std::optional<View> view_of(const Node& node, int result, const View& operand) {
  const Shape& shape = node.types[size_t(result)].shape;
  if (node.is(ops::reshape)) return reshaped(operand, shape);
  if (node.is(ops::broadcast_to)) return broadcasted(operand, shape);
  if (node.is(ops::slice)) {
    return cut(operand, int(node.attributes.get_int("axis", 0)),
               node.attributes.get_int("start", 0), shape);
  }
  if (node.is(ops::split)) {
    const int axis = int(node.attributes.get_int("axis", 0));
    return cut(operand, axis, result * shape[axis], shape);
  }
  View view = operand;
  if (node.is(ops::reverse)) {
    for (int64_t axis : node.attributes.get_ints("axes")) {
      int64_t& stride = view.strides[size_t(axis)];
      const int64_t last = std::max<int64_t>(0, shape[int(axis)] - 1);
      view.address = moved(view.address, last * stride * size_of(view.dtype));
      stride = -stride;
    }
    return view;
  }
  GRAPHC_CHECK(node.is(ops::transpose), "'{}' is not a view", node.op.name);
  view.shape = shape;
  const std::vector<int64_t> permutation = node.attributes.get_ints("permutation");
  const bool inverse = mutated(Mutant::transposed_by_the_inverse);
  for (size_t i = 0; i < permutation.size(); ++i) {
    const size_t from = size_t(permutation[i]);
    view.strides[inverse ? from : i] = operand.strides[inverse ? i : from];
  }
  return view;
}

bool Address::operator==(const Address& other) const {
  const bool same_start = at_first == nullptr || other.at_first == nullptr
                              ? at_first == other.at_first
                              : first_loop == other.first_loop && *at_first == *other.at_first;
  return buffer == other.buffer && offset == other.offset && terms == other.terms && same_start;
}

bool same_view(const View& a, const View& b) {
  if (!(a.address == b.address && a.shape == b.shape && a.dtype == b.dtype)) return false;
  for (int axis = 0; axis < a.shape.rank(); ++axis) {
    const size_t i = size_t(axis);
    if (a.shape[axis] != 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

Address moved(Address address, int64_t bytes) {
  address.offset += bytes;
  if (address.at_first)
    address.at_first = std::make_shared<const Address>(moved(*address.at_first, bytes));
  return address;
}

namespace {

/// The address that moves by `bytes` with each step of a loop, at the first iteration too.
Address stepping(Address address, int depth, int64_t bytes) {
  address.terms.push_back({depth, bytes, 0});
  if (address.at_first)
    address.at_first = std::make_shared<const Address>(stepping(*address.at_first, depth, bytes));
  return address;
}

}  // namespace

View step_of(const View& stream, int depth) {
  View view = stream;
  view.shape = stream.shape.without(0);
  for (int axis = 1; axis < stream.shape.rank(); ++axis)
    view.strides[size_t(axis - 1)] = stream.strides[size_t(axis)];
  view.address = stepping(stream.address, depth, stream.strides[0] * size_of(stream.dtype));
  return view;
}

View at_index(const View& stream, int64_t index) {
  View view = stream;
  view.shape = stream.shape.without(0);
  for (int axis = 1; axis < stream.shape.rank(); ++axis)
    view.strides[size_t(axis - 1)] = stream.strides[size_t(axis)];
  view.address = moved(stream.address, index * stream.strides[0] * size_of(stream.dtype));
  return view;
}

}  // namespace graphc::core
