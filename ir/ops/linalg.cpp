// SPDX-License-Identifier: Apache-2.0
// The records of sums and matrix products.
#include <algorithm>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

using Cotangents = std::span<const Value>;
using Ints = std::vector<int64_t>;

std::vector<Type> infer_reduce(const Node& node) {
  expect(node, 1, {"axes", "keep"});
  const Type& x = type_of(node, 0);
  if (x.dtype == DType::boolean)
    throw input_error({}, "{}: takes numbers: found {}", node.op.name, to_string(x));
  const Ints axes = axes_attribute(node, x.shape.rank());
  const bool keep = node.attributes.get_bool("keep", false);
  Ints extents;
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!reduced) {
      extents.push_back(x.shape[axis]);
    } else {
      if (x.shape[axis] == 0 && node.is(ops::max)) {
        throw input_error({}, "max: axis {} of {} has no elements", axis, to_string(x));
      }
      if (keep) extents.push_back(1);
    }
  }
  return {{x.dtype, Shape(extents)}};
}

/// The reduced value with the reduced axes restored as extent 1.
Value with_axes(const Node& node, Value reduced) {
  Shape shape = node.operands[0].shape();
  for (int64_t axis : node.attributes.get_ints("axes")) shape = shape.with(int(axis), 1);
  return reshape(reduced, shape);
}

std::vector<Type> infer_size(const Node& node) {
  expect(node, 1, {"axes"});
  const Type& x = type_of(node, 0);
  int64_t count = 1;
  for (int64_t axis : axes_attribute(node, x.shape.rank())) count *= x.shape[int(axis)];
  if (is_integer(x.dtype) && !holds(x.dtype, count)) {
    throw input_error({}, "size: {} elements: that is not a number of {}", count, name_of(x.dtype));
  }
  return {{x.dtype, {}}};
}

std::vector<Type> infer_matmul(const Node& node) {
  expect(node, 2, {"transpose_a", "transpose_b"});
  const Type &a = type_of(node, 0), &b = type_of(node, 1);
  expect_floating(node, 0);
  if (a.dtype != b.dtype)
    throw input_error({}, "matmul: dtypes differ: {} and {}", to_string(a), to_string(b));
  const int rank = a.shape.rank();
  if (rank < 2 || b.shape.rank() < 2 || (b.shape.rank() != 2 && b.shape.rank() != rank)) {
    throw input_error(
        {}, "matmul: takes [..., m, k] and [k, n], or batches of equal rank: found {} and {}",
        to_string(a), to_string(b));
  }
  const bool ta = node.attributes.get_bool("transpose_a", false),
             tb = node.attributes.get_bool("transpose_b", false);
  const int64_t m = a.shape[ta ? -1 : -2], k = a.shape[ta ? -2 : -1];
  const int64_t k2 = b.shape[tb ? -1 : -2], n = b.shape[tb ? -2 : -1];
  if (k != k2) {
    throw input_error({}, "matmul: inner dimensions differ: {} and {}: found {} and {}", k, k2,
                      to_string(a), to_string(b));
  }
  if (b.shape.rank() > 2 && a.shape.with(-1, 0).with(-2, 0) != b.shape.with(-1, 0).with(-2, 0)) {
    throw input_error({}, "matmul: batch dimensions differ: {} and {}", to_string(a), to_string(b));
  }
  Ints extents(a.shape.begin(), a.shape.end());
  extents[size_t(rank) - 2] = m;
  extents[size_t(rank) - 1] = n;
  return {{a.dtype, Shape(extents)}};
}

/// Merges all leading axes: [..., n] to [rows, n].
Value as_rows(Value x) { return reshape(x, {x.shape().without(-1).elements(), x.shape()[-1]}); }

Value with_last_axes_exchanged(Value x) {
  Ints order;
  for (int axis = 0; axis < x.shape().rank(); ++axis) order.push_back(axis);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return transpose(x, order);
}

/// y = op(a) op(b); if one matrix b is shared by all batches, its cotangent sums over them.
Values matmul_vjp(const Node& node, Cotangents dy) {
  const Value a = node.operands[0], b = node.operands[1];
  const bool ta = node.attributes.get_bool("transpose_a", false),
             tb = node.attributes.get_bool("transpose_b", false);
  if (b.shape().rank() == 2 && a.shape().rank() > 2) {
    const Value x = as_rows(ta ? with_last_axes_exchanged(a) : a), g = as_rows(dy[0]);
    const Value da = matmul(dy[0], b, false, !tb);
    return {ta ? with_last_axes_exchanged(da) : da,
            tb ? matmul(g, x, true, false) : matmul(x, g, true, false)};
  }
  const Value da = ta ? matmul(b, dy[0], tb, true) : matmul(dy[0], b, false, !tb);
  return {da, tb ? matmul(dy[0], a, true, ta) : matmul(a, dy[0], !ta, false)};
}

Samples reduce_samples() {
  return {{{{DType::f32, {2, 3}}}, {{"axes", Ints{1}}}},
          {{{DType::f32, {2, 3, 5}}}, {{"axes", Ints{0, 2}}, {"keep", true}}},
          {{{DType::f32, {33, 17}}}, {{"axes", Ints{0}}}},
          {{{DType::f32, {4, 7}}}, {{"axes", Ints{0, 1}}}}};
}

}  // namespace

constinit const Op ops::sum{
    .name = "sum",
    .doc = "The sum over {axes}; with {keep} they stay with extent 1. The sum of nothing is 0.",
    .infer = infer_reduce,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {graphc::core::broadcast_to(with_axes(n, dy[0]), n.operands[0].shape())};
    },
    .samples = reduce_samples,
};

constinit const Op ops::max{
    .name = "max",
    .doc =
        "The maximum over {axes}; with {keep} they stay with extent 1. NaN if any element is. "
        "Elements that are "
        "equally large share the derivative.",
    .infer = infer_reduce,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      const Value x = n.operands[0];
      const Value largest =
          graphc::core::cast(graphc::core::equal(x, with_axes(n, n.result())), x.dtype());
      const Value whole = with_axes(n, dy[0]);
      if (mutated(Mutant::ties_of_max_not_shared)) return {largest * whole};
      return {largest * (whole / graphc::core::sum(largest, n.attributes.get_ints("axes"), true))};
    },
    .samples = reduce_samples,
};

constinit const Op ops::size{
    .name = "size",
    .doc = "The number of elements along {axes} of the operand, as a scalar of its dtype.",
    .infer = infer_size,
    .vjp = [](const Node&, Cotangents) -> Values { return {Value{}}; },
    .samples = [] { return Samples{{{{DType::f32, {2, 3}}}, {{"axes", Ints{0, 1}}}}}; },
};

constinit const Op ops::matmul{
    .name = "matmul",
    .doc =
        "The matrix product of the last two axes: [..., m, k] and [k, n], or batches of equal "
        "shape, give "
        "[..., m, n]. {transpose_a} and {transpose_b} exchange the last two axes first. Order of "
        "summation: k ascending.",
    .infer = infer_matmul,
    .vjp = matmul_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {2, 3}}, {DType::f32, {3, 4}}}, {}},
                         {{{DType::f32, {2, 5, 3}}, {DType::f32, {3, 4}}}, {}},
                         {{{DType::f32, {7, 9}}, {DType::f32, {33, 9}}}, {{"transpose_b", true}}},
                         {{{DType::f32, {9, 7}}, {DType::f32, {9, 18}}}, {{"transpose_a", true}}},
                         {{{DType::f32, {2, 3, 5}}, {DType::f32, {4, 3}}},
                          {{"transpose_a", true}, {"transpose_b", true}}},
                         {{{DType::f32, {3, 4, 5}}, {DType::f32, {3, 5, 7}}}, {}},
                         {{{DType::f32, {3, 5, 4}}, {DType::f32, {3, 7, 5}}},
                          {{"transpose_a", true}, {"transpose_b", true}}}};
        },
};

}  // namespace graphc::core
