// SPDX-License-Identifier: Apache-2.0
// The part of hoist that divides sums of the matrices of rows, where they sum over rows as well:
// the sum within each row stays in the loop, where the matrix is in the cache, and the sum over
// rows can leave it, so that rows stay apart.
#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/hoist.h"
#include "passes/kernels/matrix_rows.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

/// The axes of a sum or maximum of the rows' matrices that are within rows, if others are not.
Ints axes_within_rows(const Node& node, const Shape& rows) {
  if (!node.is(ops::sum) && !node.is(ops::max)) return {};
  const Value operand = node.operands[0];
  // A sum of bf16 in two parts would be rounded twice.
  const bool rounds = node.is(ops::sum) && operand.dtype() == DType::bf16;
  if (rounds || !is_matrix_of(rows, operand.shape())) return {};
  const Ints axes = node.attributes.get_ints("axes");
  const auto within = std::ranges::find_if(axes, [&](int64_t axis) { return axis >= rows.rank(); });
  return within == axes.begin() ? Ints{} : Ints(within, axes.end());
}

}  // namespace

std::optional<Values> divide_row_sums(const Node& node, const Values& operands, Graph& to) {
  const Scan scan(node);
  const Shape rows = matrix_rows(scan);
  if (rows.rank() == 0) return std::nullopt;
  // What carries accumulate is divided there (accumulated.h).
  const Values emits(scan.emits().begin(), scan.emits().end());
  const std::vector<bool> emitted = needed_for(scan.body(), emits);
  const auto is_divided = [&](const Node& inner) {
    return emitted[size_t(inner.id)] && !axes_within_rows(inner, rows).empty();
  };
  if (std::ranges::none_of(scan.body().nodes(), is_divided)) return std::nullopt;
  const auto divide = [&](const Node& inner, const Values& values,
                          Graph&) -> std::optional<Values> {
    if (!is_divided(inner)) return std::nullopt;
    const WhereScope scope(inner.where);
    const Ints within = axes_within_rows(inner, rows);
    Ints over = inner.attributes.get_ints("axes");
    over.resize(over.size() - within.size());
    const Value of_rows = apply1(inner.op, {values[0]}, {{"axes", within}});
    const Value all = apply1(inner.op, {of_rows}, {{"axes", over}});
    const Shape& shape = inner.types[0].shape;
    return Values{all.shape() == shape ? all : reshape(all, shape)};
  };
  return results_of(copy_node(node, operands, to, {rewrite(scan.body(), divide)}));
}

}  // namespace graphc::core
