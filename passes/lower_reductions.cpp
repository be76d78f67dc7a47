// SPDX-License-Identifier: Apache-2.0
// Lowers sums and maxima to the three forms that kernels have: along the last axis, kept with
// extent 1; over the leading axis of a matrix; over the axis before the last of several matrices. A
// `size` becomes its constant; products, cumulative sums and paddings become elementwise work on
// slices and concatenations.
//
// A reduction over everything becomes one along the last axis and one over its results, so that the
// number of partial sums depends only on the shape.
#include <algorithm>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/rewrite.h"
#include "passes/kernels/fuse.h"
#include "passes/passes.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

/// From so many elements that follow each other it is faster to add rows than to gather elements.
constexpr int64_t kColumnsForVectors = 16;

Value reduce_last(const Op& op, Value x) {
  return apply1(op, {x}, {{"axes", Ints{x.shape().rank() - 1}}, {"keep", true}});
}

/// Reduces the trailing `count` axes; the result has the others.
Value reduce_trailing(const Op& op, Value x, size_t count) {
  const Shape full = x.shape();
  const int kept = full.rank() - int(count);
  Ints outer(full.begin(), full.begin() + kept);
  for (size_t i = 0; i < count; ++i)
    x = reduce_last(op, i == 0 ? x : reshape(x, x.shape().without(x.shape().rank() - 1)));
  return reshape(x, Shape(outer));
}

/// The number of elements of the axes `from` .. `end - 1`.
int64_t elements(const Shape& shape, int from, int end) {
  int64_t product = 1;
  for (int axis = from; axis < end; ++axis) product *= shape[axis];
  return product;
}

/// Reduces the leading `count` axes; the result has the others.
Value reduce_leading(const Op& op, Value x, int count) {
  const Shape full = x.shape();
  const Ints kept(full.begin() + count, full.end());
  const Value matrix = reshape(x, {elements(full, 0, count), elements(full, count, full.rank())});
  return reshape(apply1(op, {matrix}, {{"axes", Ints{0}}}), Shape(kept));
}

/// Reduces the axes `from` .. `end - 1`, before the last, as the rows of matrices. Their columns
/// are the last axis, if that has enough of them for vectors; else all axes behind the rows.
Value reduce_rows_of_matrices(const Op& op, Value x, int from, int end) {
  const Shape full = x.shape();
  const int rank = full.rank(), columns = full[-1] < kColumnsForVectors ? end : rank - 1;
  Ints order;
  const auto take = [&](int first, int limit) {
    for (int axis = first; axis < limit; ++axis) order.push_back(axis);
  };
  take(0, from);
  take(end, columns);
  Ints matrices;
  for (const int64_t axis : order) matrices.push_back(full[int(axis)]);
  const int64_t rows = int64_t(matrices.size());
  matrices.push_back(elements(full, from, end));
  matrices.push_back(elements(full, columns, rank));
  take(from, end);
  take(columns, rank);
  const Value moved = std::ranges::is_sorted(order) ? x : transpose(x, order);
  const Value reduced = apply1(op, {reshape(moved, Shape(matrices))}, {{"axes", Ints{rows}}});
  Ints kept(full.begin(), full.begin() + from);
  kept.insert(kept.end(), full.begin() + end, full.end());
  return reshape(reduced, Shape(kept));
}

/// Reduces axes all of which are before the last. Axes that follow each other are reduced as one,
/// and of such groups the last one first. All in one step would gather elements that lie apart.
Value reduce_in_front_of_columns(const Op& op, Value x, Ints axes) {
  while (!axes.empty()) {
    const int end = int(axes.back()) + 1;
    int from = end;
    for (; !axes.empty() && axes.back() == from - 1; axes.pop_back()) --from;
    x = from == 0 ? reduce_leading(op, x, end) : reduce_rows_of_matrices(op, x, from, end);
  }
  return x;
}

/// Multiplies halves of the axis until one element is left: the tree depends only on the shape.
Value product_along_last(Value x) {
  const int last = x.shape().rank() - 1;
  while (x.shape()[last] > 1) {
    const int64_t extent = x.shape()[last], half = extent / 2;
    const Value halves = slice(x, last, 0, half) * slice(x, last, half, 2 * half);
    x = extent % 2 == 0 ? halves : concat({halves, slice(x, last, extent - 1, extent)}, last);
  }
  return x;
}

Value lower_product(const Node& node, Value x, Graph& to) {
  const Ints axes = node.attributes.get_ints("axes");
  const int rank = x.shape().rank();
  Ints order, rest;
  int64_t count = 1;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (std::ranges::find(axes, axis) != axes.end()) continue;
    order.push_back(axis);
    rest.push_back(x.shape()[int(axis)]);
  }
  for (int64_t axis : axes) {
    order.push_back(axis);
    count *= x.shape()[int(axis)];
  }
  if (count == 0) return splat(to, 1, node.types[0]);
  rest.push_back(count);
  return reshape(product_along_last(reshape(transpose(x, order), Shape(rest))),
                 node.types[0].shape);
}

/// Adds to every element the one 1, 2, 4, ... before it: each pass doubles the number of terms.
Value lower_cumsum(const Node& node, Value x, Graph& to) {
  const int axis = int(node.attributes.get_int("axis", 0));
  const bool reverse = node.attributes.get_bool("reverse", false);
  const int64_t extent = x.shape()[axis];
  for (int64_t step = 1; step < extent; step *= 2) {
    const Value zeros = splat(to, 0, {x.dtype(), x.shape().with(axis, step)});
    const Value moved = reverse ? slice(x, axis, step, extent) : slice(x, axis, 0, extent - step);
    x = x + (reverse ? concat({moved, zeros}, axis) : concat({zeros, moved}, axis));
  }
  return x;
}

Value lower_pad(const Node& node, Value x, Graph& to) {
  const Ints low = node.attributes.get_ints("low"), high = node.attributes.get_ints("high");
  const Attribute* given = node.attributes.find("value");
  const Numeral value = given == nullptr ? Numeral(0) : Numeral::of(*given);
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const auto around = [&](int64_t count) {
      return splat(to, value, {x.dtype(), x.shape().with(axis, count)});
    };
    Values parts{x};
    if (low[size_t(axis)] > 0) parts.insert(parts.begin(), around(low[size_t(axis)]));
    if (high[size_t(axis)] > 0) parts.push_back(around(high[size_t(axis)]));
    if (parts.size() > 1) x = concat(parts, axis);
  }
  return x;
}

std::optional<Values> lower_as_it_is(const Node& node, const Values& operands, Graph& to) {
  if (node.is(ops::prod) || node.is(ops::cumsum) || node.is(ops::pad)) {
    const WhereScope scope(node.where);
    if (node.is(ops::prod)) return Values{lower_product(node, operands[0], to)};
    if (node.is(ops::pad)) return Values{lower_pad(node, operands[0], to)};
    return Values{lower_cumsum(node, operands[0], to)};
  }
  if (node.is(ops::size)) return Values{constant_size(node, to)};
  if (!node.is(ops::sum) && !node.is(ops::max)) return std::nullopt;
  Value x = operands[0];
  const Ints axes = node.attributes.get_ints("axes");
  const int rank = x.shape().rank();
  const WhereScope scope(node.where);
  if (axes.empty()) return Values{x};
  if (axes.size() == 1 && axes[0] == rank - 1) {
    return Values{reshape(reduce_last(node.op, x), node.types[0].shape)};
  }
  const int count = int(axes.size());
  const bool leading = axes.back() == count - 1, trailing = axes.front() == rank - count;
  if (trailing)
    return Values{reshape(reduce_trailing(node.op, x, axes.size()), node.types[0].shape)};
  if (leading) return Values{reshape(reduce_leading(node.op, x, count), node.types[0].shape)};
  const int64_t behind = elements(x.shape(), int(axes.back()) + 1, rank);
  const bool before_last = axes.front() == rank - 1 - count && axes.back() == rank - 2;
  const bool has_vectors = behind >= kColumnsForVectors && x.shape().elements() > 0;
  if (has_vectors || (before_last && behind > 1))
    return Values{reshape(reduce_in_front_of_columns(node.op, x, axes), node.types[0].shape)};
  Ints order;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  Value last = transpose(x, order);
  if (mutated(Mutant::reduction_along_wrong_axis)) last = reshape(x, last.shape());
  return Values{reshape(reduce_trailing(node.op, last, axes.size()), node.types[0].shape)};
}

/// A lowering in several steps still rounds once: the steps of bf16 are f32.
std::optional<Values> lower(const Node& node, const Values& operands, Graph& to) {
  const bool in_steps = node.is(ops::prod) || node.is(ops::cumsum) ||
                        (node.is(ops::sum) && node.attributes.get_ints("axes").size() > 1);
  if (!in_steps || operands[0].dtype() != DType::bf16) return lower_as_it_is(node, operands, to);
  const WhereScope scope(node.where);
  std::optional<Values> values = lower_as_it_is(node, {cast(operands[0], DType::f32)}, to);
  if (values) values = Values{cast((*values)[0], DType::bf16)};
  return values;
}

}  // namespace

GraphPtr lower_reductions(const GraphPtr& graph) {
  const auto change = [](const GraphPtr& g) { return rewrite(*g, lower); };
  return change(rewrite_regions(graph, change));
}

constinit const Pass passes::reductions{
    .name = "reductions",
    .summary = "sums, maxima, products and paddings in the forms that kernels have",
    .options = "",
    .run = [](const GraphPtr& graph, const PassOptions&,
              Remarks&) { return lower_reductions(graph); },
};

}  // namespace graphc::core
