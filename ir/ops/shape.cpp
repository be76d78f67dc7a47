// SPDX-License-Identifier: Apache-2.0
// The records of ops that only move data.
#include <algorithm>

#include "ir/build.h"
#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

using Cotangents = std::span<const Value>;
using Ints = std::vector<int64_t>;

std::vector<Type> infer_reshape(const Node& node) {
  expect(node, 1, {"shape"});
  const Shape shape = shape_attribute(node);
  const Type& x = type_of(node, 0);
  if (shape.elements() != x.shape.elements()) {
    throw input_error({}, "reshape: {} has {} elements: [{}] has {}", to_string(x),
                      x.shape.elements(), to_string(shape), shape.elements());
  }
  return {{x.dtype, shape}};
}

std::vector<Type> infer_transpose(const Node& node) {
  expect(node, 1, {"permutation"});
  const Type& x = type_of(node, 0);
  const Ints permutation = node.attributes.get_ints("permutation");
  Ints sorted = permutation, extents;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() == size_t(x.shape.rank()) && sorted[i] == int64_t(i)) continue;
    throw input_error({}, "transpose: [{}] is not a permutation of the {} axes of {}",
                      fmt::join(permutation, ","), x.shape.rank(), to_string(x));
  }
  if (sorted.size() != size_t(x.shape.rank())) {
    throw input_error({}, "transpose: [{}] is not a permutation of the {} axes of {}",
                      fmt::join(permutation, ","), x.shape.rank(), to_string(x));
  }
  for (int64_t axis : permutation) extents.push_back(x.shape[int(axis)]);
  return {{x.dtype, Shape(extents)}};
}

std::vector<Type> infer_broadcast_to(const Node& node) {
  expect(node, 1, {"shape"});
  const Shape shape = shape_attribute(node);
  const Type& x = type_of(node, 0);
  if (broadcast(x.shape, shape) != shape) {
    throw input_error({}, "broadcast_to: {} does not broadcast to [{}]", to_string(x),
                      to_string(shape));
  }
  return {{x.dtype, shape}};
}

std::vector<Type> infer_pad(const Node& node) {
  expect(node, 1, {"low", "high", "value"});
  const Type& x = type_of(node, 0);
  const Ints low = node.attributes.get_ints("low"), high = node.attributes.get_ints("high");
  const size_t rank = size_t(x.shape.rank());
  const auto negative = [](int64_t n) { return n < 0; };
  if (low.size() != rank || high.size() != rank || std::ranges::any_of(low, negative) ||
      std::ranges::any_of(high, negative)) {
    throw input_error({},
                      "pad: low and high are a number of at least 0 for each axis of {}: found "
                      "[{}] and [{}]",
                      to_string(x), fmt::join(low, ","), fmt::join(high, ","));
  }
  if (const Attribute* value = node.attributes.find("value")) {
    check_number(node, "value", *value);
    check_held("pad", x.dtype, *value);
  }
  Ints extents;
  for (size_t axis = 0; axis < rank; ++axis)
    extents.push_back(sum_of_extents(node, {low[axis], x.shape[int(axis)], high[axis]}));
  return {{x.dtype, Shape(extents)}};
}

Values pad_vjp(const Node& node, Cotangents dy) {
  Value dx = dy[0];
  const Shape& shape = node.operands[0].shape();
  const Ints low = node.attributes.get_ints("low");
  for (int axis = 0; axis < shape.rank(); ++axis)
    dx = slice(dx, axis, low[size_t(axis)], low[size_t(axis)] + shape[axis]);
  return {dx};
}

std::vector<Type> infer_slice(const Node& node) {
  expect(node, 1, {"axis", "start", "limit"});
  const Type& x = type_of(node, 0);
  const int axis = axis_attribute(node, x.shape.rank());
  const int64_t start = node.attributes.get_int("start", 0);
  const int64_t limit = node.attributes.get_int("limit", x.shape[axis]);
  if (start < 0 || start > limit || limit > x.shape[axis]) {
    throw input_error({}, "slice: [{}, {}) is outside axis {} of {}", start, limit, axis,
                      to_string(x));
  }
  return {{x.dtype, x.shape.with(axis, limit - start)}};
}

std::vector<Type> infer_concat(const Node& node) {
  expect_attributes(node, {"axis"});
  if (node.operands.empty())
    throw input_error({}, "concat: takes at least one operand: found none");
  const Type& first = type_of(node, 0);
  const int axis = axis_attribute(node, first.shape.rank());
  int64_t extent = 0;
  for (Value operand : node.operands) {
    const Type& type = operand.type();
    if (type.dtype != first.dtype || type.shape.rank() != first.shape.rank() ||
        type.shape.with(axis, 0) != first.shape.with(axis, 0)) {
      throw input_error({}, "concat: operands differ outside axis {}: {} and {}", axis,
                        to_string(first), to_string(type));
    }
    extent = sum_of_extents(node, {extent, type.shape[axis]});
  }
  return {{first.dtype, first.shape.with(axis, extent)}};
}

std::vector<Type> infer_split(const Node& node) {
  expect(node, 1, {"axis", "parts"});
  const Type& x = type_of(node, 0);
  const int axis = axis_attribute(node, x.shape.rank());
  const int64_t parts = node.attributes.get_int("parts", 0);
  if (parts < 1 || parts > 4096 || x.shape[axis] % parts != 0) {
    throw input_error({}, "split: {} along axis {} has no {} equal parts", to_string(x), axis,
                      parts);
  }
  return std::vector<Type>(size_t(parts), Type{x.dtype, x.shape.with(axis, x.shape[axis] / parts)});
}

Values split_vjp(const Node& node, Cotangents dy) {
  Values parts(dy.begin(), dy.end());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i]) parts[i] = splat(*node.graph, 0, node.types[i]);
  }
  return {concat(parts, int(node.attributes.get_int("axis", 0)))};
}

Values slice_vjp(const Node& node, Cotangents dy) {
  const Type& x = node.operands[0].type();
  const int axis = int(node.attributes.get_int("axis", 0));
  const int64_t start = node.attributes.get_int("start", 0),
                limit = start + node.types[0].shape[axis];
  Values parts;
  if (start > 0) parts.push_back(splat(*node.graph, 0, {x.dtype, x.shape.with(axis, start)}));
  parts.push_back(dy[0]);
  if (limit < x.shape[axis])
    parts.push_back(splat(*node.graph, 0, {x.dtype, x.shape.with(axis, x.shape[axis] - limit)}));
  return {parts.size() == 1 ? dy[0] : concat(parts, axis)};
}

Values concat_vjp(const Node& node, Cotangents dy) {
  const int axis = int(node.attributes.get_int("axis", 0));
  Values result;
  int64_t start = 0;
  for (Value operand : node.operands) {
    const int64_t limit = start + operand.shape()[axis];
    result.push_back(slice(dy[0], axis, start, limit));
    start = limit;
  }
  return result;
}

Values transpose_vjp(const Node& node, Cotangents dy) {
  const Ints permutation = node.attributes.get_ints("permutation");
  Ints inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[size_t(permutation[i])] = int64_t(i);
  return {transpose(dy[0], inverse)};
}

}  // namespace

constinit const Op ops::reshape{
    .name = "reshape",
    .doc = "The same elements in row-major order under another {shape}.",
    .infer = infer_reshape,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {graphc::core::reshape(dy[0], n.operands[0].shape())};
    },
    .samples = [] { return Samples{{{{DType::f32, {2, 6}}}, {{"shape", Ints{3, 4}}}}}; },
};

constinit const Op ops::transpose{
    .name = "transpose",
    .doc = "Axis i of the result is axis {permutation}[i] of the operand.",
    .infer = infer_transpose,
    .vjp = transpose_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {2, 3}}}, {{"permutation", Ints{1, 0}}}},
                         {{{DType::f32, {2, 3, 5}}}, {{"permutation", Ints{1, 2, 0}}}}};
        },
};

constinit const Op ops::broadcast_to{
    .name = "broadcast_to",
    .doc = "The operand repeated to {shape} by NumPy's rule.",
    .infer = infer_broadcast_to,
    .vjp = [](const Node&, Cotangents dy) -> Values { return {dy[0]}; },
    .samples =
        [] {
          return Samples{{{{DType::f32, {3, 1}}}, {{"shape", Ints{2, 3, 5}}}},
                         {{{DType::f32, {}}}, {{"shape", Ints{4}}}}};
        },
};

constinit const Op ops::slice{
    .name = "slice",
    .doc = "The elements {start} <= i < {limit} along {axis}.",
    .infer = infer_slice,
    .vjp = slice_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {4, 6}}},
                          {{"axis", int64_t{1}}, {"start", int64_t{2}}, {"limit", int64_t{5}}}},
                         {{{DType::f32, {4, 6}}},
                          {{"axis", int64_t{0}}, {"start", int64_t{0}}, {"limit", int64_t{3}}}}};
        },
};

constinit const Op ops::pad{
    .name = "pad",
    .doc =
        "{low}[i] elements of {value} (0) before and {high}[i] behind the operand along axis i, "
        "for every axis; the type of the operand must have {value}.",
    .infer = infer_pad,
    .vjp = pad_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {2, 3}}}, {{"low", Ints{0, 2}}, {"high", Ints{0, 1}}}},
                         {{{DType::f32, {2, 3, 5}}},
                          {{"low", Ints{1, 0, 0}}, {"high", Ints{0, 4, 0}}, {"value", 0.5}}}};
        },
};

constinit const Op ops::reverse{
    .name = "reverse",
    .doc = "The elements in reverse order along {axes}.",
    .infer = [](const Node& node) -> std::vector<Type> {
      expect(node, 1, {"axes"});
      axes_attribute(node, type_of(node, 0).shape.rank());
      return {type_of(node, 0)};
    },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {apply1(ops::reverse, {dy[0]}, {{"axes", n.attributes.get_ints("axes")}})};
    },
    .samples =
        [] {
          return Samples{{{{DType::f32, {2, 3}}}, {{"axes", Ints{1}}}},
                         {{{DType::f32, {4, 19}}}, {{"axes", Ints{0}}}},
                         {{{DType::f32, {2, 3, 5}}}, {{"axes", Ints{0, 2}}}}};
        },
};

constinit const Op ops::concat{
    .name = "concat",
    .doc = "The operands one after another along {axis}.",
    .infer = infer_concat,
    .vjp = concat_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {2, 3}}, {DType::f32, {2, 5}}}, {{"axis", int64_t{1}}}},
                         {{{DType::f32, {2, 3}}, {DType::f32, {1, 3}}}, {{"axis", int64_t{0}}}}};
        },
};

constinit const Op ops::split{
    .name = "split",
    .doc = "{parts} equal parts along {axis}, one result each.",
    .infer = infer_split,
    .vjp = split_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {2, 12}}}, {{"axis", int64_t{1}}, {"parts", int64_t{4}}}}};
        },
};

}  // namespace graphc::core
