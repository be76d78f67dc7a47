// SPDX-License-Identifier: Apache-2.0
// The records of reductions and orderings along an axis other than sum and max.
#include "ir/build.h"
#include "ir/composite.h"
#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

using Cotangents = std::span<const Value>;
using Ints = std::vector<int64_t>;

/// The product of the other elements: y / x, except that if exactly one element of a product is 0,
/// that element gets the product of the rest and the others get 0.
Values prod_vjp(const Node& node, Cotangents dy) {
  const Value x = node.operands[0];
  const Ints axes = node.attributes.get_ints("axes");
  const Value zero = equal(x, 0), others = select(zero, 1, x);
  const Value product = apply1(ops::prod, {others}, {{"axes", axes}, {"keep", true}});
  const Value zeros = sum(cast(zero, DType::i32), axes, true);
  const Value d = reshape(dy[0], product.shape());
  const Value without_zero = select(equal(zeros, 0), product / others, 0);
  const Value at_the_zero = select(logical_and(zero, equal(zeros, 1)), product, 0);
  return {d * (without_zero + at_the_zero)};
}

/// The cotangent goes to the element that the index selects: the first among equal ones, whereas
/// the derivative of a maximum would share it.
Values top_k_vjp(const Node& node, Cotangents dy) {
  if (!dy[0]) return {Value{}};
  const Shape& shape = node.operands[0].shape();
  const int64_t k = node.attributes.get_int("k", 0), width = shape[-1];
  const int64_t rows = shape.without(shape.rank() - 1).elements();
  const Value indices = reshape(node.result(1), {rows, k});
  const Value chosen = apply1(ops::one_hot, {indices}, {{"depth", width}});
  const Value taken = select(chosen, reshape(dy[0], {rows, k, 1}), 0);
  return {reshape(sum(taken, {1}), shape)};
}

std::vector<Type> infer_cumsum(const Node& node) {
  expect(node, 1, {"axis", "reverse"});
  const Type& x = type_of(node, 0);
  if (x.dtype == DType::boolean)
    throw input_error({}, "cumsum: takes numbers: found {}", to_string(x));
  axis_attribute(node, x.shape.rank());
  return {x};
}

Samples along_last() {
  return {{{{DType::f32, {2, 3}}}, {{"axis", int64_t{1}}}},
          {{{DType::f32, {4, 19}}}, {{"axis", int64_t{1}}}},
          {{{DType::f32, {5, 2, 3}}}, {{"axis", int64_t{0}}}}};
}

Samples over_axes() {
  return {{{{DType::f32, {2, 3}}}, {{"axes", Ints{1}}}},
          {{{DType::f32, {2, 3, 5}}}, {{"axes", Ints{0, 2}}, {"keep", true}}},
          {{{DType::f32, {9, 17}}}, {{"axes", Ints{0}}}},
          {{{DType::f32, {4, 7}}}, {{"axes", Ints{0, 1}}}}};
}

std::vector<Type> infer_top_k(const Node& node) {
  expect(node, 1, {"k"});
  const Type& x = type_of(node, 0);
  if (x.dtype == DType::boolean)
    throw input_error({}, "top_k: takes numbers: found {}", to_string(x));
  const int64_t k = node.attributes.get_int("k", -1);
  if (x.shape.rank() == 0 || k < 0 || k > x.shape[-1]) {
    throw input_error({}, "top_k: {{k}} is from 0 to the extent of the last axis: found {} of {}",
                      k, to_string(x));
  }
  return infer_by_body(node);
}

}  // namespace

constinit const Op ops::min{
    .name = "min",
    .doc =
        "The minimum over {axes}; with {keep} they stay with extent 1. NaN if any element is. "
        "Elements that are equally small share the derivative.",
    .infer = infer_by_body,
    .body = R"(graph (%x) {
      %m = max(sub(neg(%x), $x.mirror)) {axes = $axes, keep = $keep:false}
      return sub(neg(%m), $x.mirror)
    })",
    .samples = over_axes,
};

constinit const Op ops::prod{
    .name = "prod",
    .doc = "The product over {axes}; with {keep} they stay with extent 1. Of nothing it is 1.",
    .infer = [](const Node& node) { return ops::sum.infer(node); },
    .vjp = prod_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {2, 3}}}, {{"axes", Ints{1}}}},
                         {{{DType::f32, {2, 3, 2}}}, {{"axes", Ints{0, 2}}, {"keep", true}}},
                         {{{DType::f32, {5, 17}}}, {{"axes", Ints{0}}}},
                         {{{DType::f32, {2, 2}}}, {{"axes", Ints{0, 1}}}}};
        },
};

constinit const Op ops::variance{
    .name = "variance",
    .doc =
        "The mean squared distance from the mean over {axes} (divided by their number); with "
        "{keep} they stay with extent 1.",
    .infer = infer_by_body,
    .body = R"(graph (%x) {
      %d = sub(%x, mean(%x) {axes = $axes, keep = true})
      return mean(square(%d)) {axes = $axes, keep = $keep:false}
    })",
    .samples = over_axes,
};

constinit const Op ops::argmax{
    .name = "argmax",
    .doc =
        "The index (i32) along {axis}, which goes, of the first of the largest elements, or of the "
        "first NaN.",
    .infer = infer_by_body,
    .body = R"(graph (%x) {
      %m = max(%x) {axes = [$axis], keep = true}
      %largest = logical_or(equal(%x, %m), not_equal(%x, %x))
      %i = iota {shape = $x.shape, axis = $axis, dtype = i32}
      return min(select(%largest, %i, 2147483647)) {axes = [$axis]}
    })",
    .samples = along_last,
};

constinit const Op ops::argmin{
    .name = "argmin",
    .doc =
        "The index (i32) along {axis}, which goes, of the first of the smallest elements, or of "
        "the first NaN.",
    .infer = infer_by_body,
    .body = R"(graph (%x) {
      return argmax(sub(neg(%x), $x.mirror)) {axis = $axis}
    })",
    .samples = along_last,
};

constinit const Op ops::cumsum{
    .name = "cumsum",
    .doc =
        "Sums of the elements up to and with each along {axis}; with {reverse} from each to the "
        "end.",
    .infer = infer_cumsum,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {apply1(ops::cumsum, {dy[0]},
                     {{"axis", n.attributes.get_int("axis", 0)},
                      {"reverse", !n.attributes.get_bool("reverse", false)}})};
    },
    .samples =
        [] {
          Samples samples = along_last();
          samples.push_back({{{DType::f32, {3, 6}}}, {{"axis", int64_t{0}}, {"reverse", true}}});
          return samples;
        },
};

constinit const Op ops::top_k{
    .name = "top_k",
    .doc =
        "The {k} largest elements along the last axis, in descending order, and their indices "
        "(i32); of equal ones the first, to which the derivative goes too. Goes through the axis k "
        "times.",
    .infer = infer_top_k,
    .body = R"(graph (%x) {
      %none = logical_and(equal(%x, %x), not_equal(%x, %x))
      %values, %indices, %all = scan {steps = $k} carry %taken = %none with %x {
        %left = select(%taken, $x.lowest, %x)
        %m = max(%left) {axes = [$x.last], keep = true}
        %largest = logical_or(equal(%left, %m), not_equal(%left, %left))
        %i = iota {shape = $x.shape, axis = $x.last, dtype = i32}
        %free = logical_and(%largest, logical_not(%taken))
        %index = min(select(%free, %i, 2147483647)) {axes = [$x.last]}
        next %taken = logical_or(%taken, one_hot(%index) {depth = $x.width})
        emit max(%left) {axes = [$x.last]}, %index
      }
      return transpose(%values) {permutation = $x.rotated},
             transpose(%indices) {permutation = $x.rotated}
    })",
    .vjp = top_k_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {3, 7}}}, {{"k", int64_t{2}}}},
                         {{{DType::f32, {2, 2, 5}}}, {{"k", int64_t{5}}}}};
        },
};

}  // namespace graphc::core
