// SPDX-License-Identifier: Apache-2.0
// The records of table ops: gather, scatter and sums by integer indices.
#include "ir/build.h"
#include "ir/op.h"
#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;
using Cotangents = std::span<const Value>;

void expect_indices(const Node& node, const Type& indices) {
  if (!is_integer(indices.dtype))
    throw input_error({}, "{}: indices are integers: found {}", node.op.name, to_string(indices));
}

/// The shape of the rows that the indices select from a table: [indices..., row...].
Shape rows_shape(const Type& indices, const Type& table) {
  Ints extents(indices.shape.begin(), indices.shape.end());
  extents.insert(extents.end(), table.shape.begin() + 1, table.shape.end());
  return Shape(extents);
}

std::vector<Type> infer_gather(const Node& node) {
  expect(node, 2);
  const Type &table = type_of(node, 0), &indices = type_of(node, 1);
  if (table.shape.rank() < 1)
    throw input_error({}, "gather: the table has at least one axis: found {}", to_string(table));
  expect_indices(node, indices);
  return {{table.dtype, rows_shape(indices, table)}};
}

/// scatter and scatter_add.
std::vector<Type> infer_scatter(const Node& node) {
  expect(node, 3);
  const Type &base = type_of(node, 0), &indices = type_of(node, 1), &rows = type_of(node, 2);
  if (base.shape.rank() < 1) {
    throw input_error({}, "{}: the base has at least one axis: found {}", node.op.name,
                      to_string(base));
  }
  expect_indices(node, indices);
  const Type wanted{base.dtype, rows_shape(indices, base)};
  if (rows != wanted) {
    throw input_error({}, "{}: rows for base {} and indices {} are {}: found {}", node.op.name,
                      to_string(base), to_string(indices), to_string(wanted), to_string(rows));
  }
  return {base};
}

std::vector<Type> infer_merge_rows(const Node& node) {
  expect(node, 2);
  const Type &indices = type_of(node, 0), &rows = type_of(node, 1);
  expect_indices(node, indices);
  const int axes = indices.shape.rank();
  bool fits = rows.shape.rank() >= axes && rows.dtype != DType::boolean;
  for (int axis = 0; fits && axis < axes; ++axis) fits = rows.shape[axis] == indices.shape[axis];
  if (!fits) {
    throw input_error(
        {},
        "merge_rows: rows for indices {} are numbers with the axes of the indices first: "
        "found {}",
        to_string(indices), to_string(rows));
  }
  // -1 marks the end of the distinct indices, so the dtype must be able to represent it.
  const bool wide = indices.dtype == DType::i64 || indices.dtype == DType::u32;
  Ints extents{indices.shape.elements()};
  extents.insert(extents.end(), rows.shape.begin() + axes, rows.shape.end());
  return {{wide ? DType::i64 : DType::i32, {indices.shape.elements()}},
          {rows.dtype, Shape(extents)}};
}

std::vector<Type> infer_check_labels(const Node& node) {
  expect(node, 1, {"classes"});
  const Type& labels = type_of(node, 0);
  if (!is_integer(labels.dtype)) {
    throw input_error({}, "check_labels: labels are integers: found {}", to_string(labels));
  }
  if (const int64_t classes = node.attributes.get_int("classes", 0); classes < 0)
    throw input_error({}, "check_labels: {{classes}} is at least 0: found {}", classes);
  return {labels};
}

/// Appends axes of extent 1, so that one number per row broadcasts over the row.
Value across_rows(Value numbers, const Shape& rows) {
  Ints extents(numbers.shape().begin(), numbers.shape().end());
  extents.resize(size_t(rows.rank()), 1);
  return reshape(numbers, Shape(extents));
}

/// The rows of a scatter get the cotangents of the rows they were written to, unless nothing was
/// written or a later row overwrote them.
Values scatter_vjp(const Node& node, Cotangents dy) {
  Graph& graph = *node.graph;
  const Value indices = node.operands[1], rows = node.operands[2];
  const int64_t count = indices.shape().elements();
  const Value flat = reshape(indices, {count});
  const Value positions = graphc::core::iota(graph, {count});
  const Value nobody = splat(graph, -1, {DType::i32, {node.types[0].shape[0]}});
  const Value zeros = splat(graph, 0, rows.type());
  if (node.types[0].shape[0] == 0) return {dy[0], Value{}, zeros};
  const Value row = graphc::core::maximum(flat, 0);
  const Value last = graphc::core::equal(gather(scatter(nobody, flat, positions), row), positions);
  const Value written = graphc::core::logical_and(last, graphc::core::greater_equal(flat, 0));
  const Value taken = gather(dy[0], reshape(row, indices.shape()));
  return {
      scatter(dy[0], indices, zeros), Value{},
      graphc::core::select(across_rows(reshape(written, indices.shape()), rows.shape()), taken, 0)};
}

/// A row gets the cotangent of the sum it went into, whose position is the number of smaller
/// distinct indices.
Values merge_rows_vjp(const Node& node, Cotangents dy) {
  if (!dy[1]) return {Value{}, Value{}};
  const Value indices = node.operands[0], distinct = node.result(0);
  const int64_t count = indices.shape().elements();
  const Value flat = graphc::core::cast(reshape(indices, {count, 1}), distinct.dtype());
  const Value all = reshape(distinct, {1, count});
  const Value smaller =
      graphc::core::logical_and(graphc::core::greater_equal(all, 0), graphc::core::less(all, flat));
  const Value place = graphc::core::sum(graphc::core::cast(smaller, DType::i32), {1});
  return {Value{}, gather(dy[1], reshape(place, indices.shape()))};
}

}  // namespace

constinit const Op ops::gather{
    .name = "gather",
    .doc =
        "Rows (axis 0) of a table chosen by integer indices: [v, ...] and [i...] give [i..., ...]. "
        "An index outside the table is an error.",
    .infer = infer_gather,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {
          graphc::core::scatter_add(splat(*n.graph, 0, n.operands[0].type()), n.operands[1], dy[0]),
          Value{}};
    },
    .samples = [] { return Samples{{{{DType::f32, {5, 3}}, {DType::i32, {2, 4}}}, {}, 5}}; },
};

constinit const Op ops::scatter_add{
    .name = "scatter_add",
    .doc =
        "The base with each row of the third operand added to the row (axis 0) its index names, in "
        "index order. An index outside the base is an error.",
    .infer = infer_scatter,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {dy[0], Value{}, graphc::core::gather(dy[0], n.operands[1])};
    },
    .samples =
        [] {
          return Samples{
              {{{DType::f32, {5, 3}}, {DType::i32, {2, 4}}, {DType::f32, {2, 4, 3}}}, {}, 5}};
        },
};

constinit const Op ops::scatter{
    .name = "scatter",
    .doc =
        "The base with each row of the third operand in the place of the row (axis 0) its index "
        "names; the last one where an index comes twice. Index -1 writes nothing; any other index "
        "outside the base is an error.",
    .infer = infer_scatter,
    .vjp = scatter_vjp,
    .samples =
        [] {
          return Samples{
              {{{DType::f32, {5, 3}}, {DType::i32, {2, 4}}, {DType::f32, {2, 4, 3}}}, {}, 5}};
        },
};

constinit const Op ops::merge_rows{
    .name = "merge_rows",
    .doc =
        "Rows of equal index summed, in index order: indices [i...] and rows [i..., ...] give the "
        "n distinct indices, ascending, and their sums; both are filled up to the number of "
        "indices, with -1 and rows of zeros. A negative index is an error.",
    .infer = infer_merge_rows,
    .vjp = merge_rows_vjp,
    .samples = [] { return Samples{{{{DType::i32, {2, 4}}, {DType::f32, {2, 4, 3}}}, {}, 5}}; },
};

constinit const Op ops::check_labels{
    .name = "check_labels",
    .doc =
        "The integer labels as they are. One that is none of {classes} classes, 0 to classes - 1, "
        "is an error that names it and its row.",
    .infer = infer_check_labels,
    .vjp = no_gradient,
    .samples =
        [] {
          return Samples{{{{DType::i32, {7}}}, {{"classes", int64_t{5}}}, 5},
                         {{{DType::i64, {3, 4}}}, {{"classes", int64_t{300}}}, 300}};
        },
};

}  // namespace graphc::core
