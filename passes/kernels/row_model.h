// SPDX-License-Identifier: Apache-2.0
// Rows, columns, stages, units and parts: the common model of map, gemm and recurrent kernels,
// shared by kernel formation and lowering.
//
// A body works over *rows* (all leading axes) and *columns* (the last axis). A node is *local* if
// an element of its result needs only the same row and the same unit of its operands, *row-global*
// if it reads whole rows: a product with a captured matrix, a sum or maximum along the row.
// stage(v) is the largest stage of the operands of v, plus 1 if v is row-global; inputs are stage
// 0. Values joined by local nodes share a *column space*; its *unit* is the smallest width in it,
// and every other width is a whole number of *parts* of it. A width of 1 is a number per row: it
// has no columns.
//
// `find_clusters` builds clusters whose bodies have this model; `fuse` applies it to the steps of
// loops; `row_cluster` uses it to find nodes that keep rows separate; Kernel (kernel.h) has that of
// a formed kernel, from which lowering makes one nest per stage and column space.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/kernels/column_spaces.h"

namespace graphc::core {

// --- shapes

/// The row axes of a value: all but the last.
Shape rows_of(const Shape& shape);
/// The extent of the last axis; 1 for a scalar.
int64_t width_of(const Shape& shape);

// --- nodes

/// Whether the node slices or concatenates along an axis.
bool is_cut(const Node& node);
/// Whether the node computes or moves elements within rows, unless it slices or concatenates along
/// the rows.
bool is_local(const Node& node);
/// Whether the node is local if the first `axes` axes of its operands are the rows.
bool keeps_rows(const Node& node, int axes);
/// Whether the node reads whole rows.
bool is_row_global(const Node& node);
/// A sum or maximum along the row that keeps its axis: one number per row.
bool is_row_reduction(const Node& node);
/// A sum or maximum over the rows of matrices, which drops their axis: [..., K, V] to [..., V], of
/// several columns.
bool is_inner_reduction(const Node& node);
/// A product that reads another matrix for each index of the leading axes, on its right or
/// transposed on its left: outside of loops a kernel of its own.
bool is_batched_product(const Node& node);
/// A view that takes whole parts of its operand's columns, or repeats it. One column is a number
/// per row, not a part.
bool is_column_view(const Node& node);
/// A cast of numbers to a type that represents them all exactly: bf16 to f32.
bool is_widening(const Node& node);
/// A concatenation along the columns whose parts are all multiples of the narrowest.
bool is_concat_of_units(const Node& node);

/// The iteration shape of a node: for a reduction along the row or over rows of matrices, its
/// operand's.
const Shape& domain_of(const Node& node);
/// The unit of the columns that a node computes, slices or concatenates.
ColumnUnit columns_of(const Node& node);

// --- bodies

/// The shape of a value of a body: an element per row and column, one per row, one per column (the
/// same in all rows), or a single one.
enum class RowKind : uint8_t { full, row, column, scalar };

/// The row model of a body. Vectors are indexed by node id; all results of a node share kind, stage
/// and space.
struct RowModel {
  Shape lead;  ///< the axes of the rows
  /// How many axes of the rows have matrices of their own in products: heads, each with its matrix.
  /// 0, or all but the last. Rows that differ along them share nothing.
  int groups = 0;
  std::vector<RowKind> kind;
  std::vector<int> stage;
  std::vector<int> space;  ///< index into `spaces`; -1 for rows and scalars
  std::vector<ColumnUnit> spaces;
  int stages = 0;  ///< the largest stage

  int64_t rows() const { return lead.elements(); }
  RowKind kind_of(Value value) const { return kind[size_t(value.node->id)]; }
  int stage_of(Value value) const { return stage[size_t(value.node->id)]; }
  /// The columns per part of the value's column space; 1 for rows and scalars.
  int64_t unit_of(Value value) const;
  /// The width of the value in units: 4 for an LSTM's pre-activations; 1 for rows and scalars.
  int parts_of(Value value) const;
};

/// The row model of a body; if it has none, `why_not` names the node and the rule it breaks. Inputs
/// that are right operands of products are matrices; other inputs are rows, columns or scalars,
/// according to their shape.
std::optional<RowModel> analyse_rows(const Graph& body, std::string* why_not = nullptr);

}  // namespace graphc::core
