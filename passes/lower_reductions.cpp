// SPDX-License-Identifier: Apache-2.0
// Brings sums and maxima to the two forms that kernels have: along the last axis, kept with extent
// 1, or over the leading axis of a matrix. A `size` becomes the number it is.
//
// A reduction of everything becomes one along the last axis and one over the results, so that the
// number of parts of the sum depends on the shape alone.
#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "passes/fuse.h"
#include "passes/passes.h"

namespace graphc {
namespace {

using Ints = std::vector<int64_t>;

Value reduce_last(const Op& op, Value x) {
  return apply1(op, {x}, {{"axes", Ints{x.shape().rank() - 1}}, {"keep", true}});
}

/// Reduces the trailing `count` axes; the result has the other axes.
Value reduce_trailing(const Op& op, Value x, size_t count) {
  const Shape full = x.shape();
  const int kept = full.rank() - int(count);
  Ints outer(full.begin(), full.begin() + kept);
  for (size_t i = 0; i < count; ++i)
    x = reduce_last(op, i == 0 ? x : reshape(x, x.shape().without(x.shape().rank() - 1)));
  return reshape(x, Shape(outer));
}

std::optional<Values> lower(const Node& node, const Values& operands, Graph& to) {
  if (node.is(ops::size)) {
    int64_t count = 1;
    for (int64_t axis : node.attributes.get_ints("axes")) count *= operands[0].shape()[int(axis)];
    return Values{scalar_constant(to, double(count), node.types[0].dtype)};
  }
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
  if (leading) {
    int64_t rows = 1, columns = 1;
    for (int axis = 0; axis < rank; ++axis) (axis < count ? rows : columns) *= x.shape()[axis];
    const Value matrix = reshape(x, {rows, columns});
    return Values{reshape(apply1(node.op, {matrix}, {{"axes", Ints{0}}}), node.types[0].shape)};
  }
  Ints order;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  return Values{
      reshape(reduce_trailing(node.op, transpose(x, order), axes.size()), node.types[0].shape)};
}

}  // namespace

GraphPtr lower_reductions(const GraphPtr& graph) {
  const auto change = [](const GraphPtr& g) { return rewrite(*g, lower); };
  return change(rewrite_regions(graph, change));
}

constinit const Pass passes::reductions{
    .name = "reductions",
    .summary = "sums and maxima along the last axis or over the leading one, as kernels do them",
    .options = "",
    .run = [](const GraphPtr& graph, const PassOptions&, Remarks&) {
      return lower_reductions(graph);
    },
};

}  // namespace graphc
