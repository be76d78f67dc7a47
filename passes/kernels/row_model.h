// SPDX-License-Identifier: Apache-2.0
// Rows, columns, stages, units and parts: the one thing that map, gemm and recurrent kernels do,
// and what forming kernels and lowering them agree about.
//
// A body works over *rows* (all leading axes) and *columns* (the last axis). A node is *local* if
// an element of its result needs only the same row and the same unit of its operands, *row-global*
// if it reads whole rows: a product with a captured matrix, a sum or maximum along the row.
// stage(v) is the largest stage of the operands of v, plus 1 if v is row-global; inputs are stage
// 0. Values joined by local nodes share a *column space*; its *unit* is the smallest width in it,
// and every other width is a whole number of *parts* of it. A width of 1 is a number for each row:
// it has no columns.
//
// `find_clusters` builds clusters whose bodies this model has, node by node; `fuse` asks it about
// the steps of loops; `row_cluster` asks which nodes keep rows apart; lowering makes one nest of
// each stage and column space.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/kernels/column_spaces.h"

namespace graphc::core {

// --- shapes

/// The rows' axes of a value: all but the last.
Shape rows_of(const Shape& shape);
/// The extent of the last axis; 1 for a number.
int64_t width_of(const Shape& shape);

// --- nodes

/// Whether the node takes stretches of an axis, or puts them one after another.
bool is_cut(const Node& node);
/// Whether the node computes or moves elements within rows, if it does not cut along the rows.
bool is_local(const Node& node);
/// Whether the node is local where the first `axes` axes of its operands are the rows.
bool keeps_rows(const Node& node, int axes);
/// True for nodes that read whole rows.
bool is_row_global(const Node& node);
/// A sum or maximum along the row that keeps its axis: a number for each row.
bool is_row_reduction(const Node& node);
/// True for a product that reads another matrix for each index of the leading axes, on its right or
/// transposed on its left: no kernel of rows has it.
bool is_batched_product(const Node& node);
/// A view that takes whole parts of its operand's columns, or repeats it. One column is a number
/// for each row, not a part.
bool is_column_view(const Node& node);
/// A cast of numbers to a type that holds them all exactly: bf16 to f32.
bool is_widening(const Node& node);
/// A concatenation along the columns whose parts are all multiples of the narrowest.
bool is_concat_of_units(const Node& node);

/// The shape a node works over: a reduction along the row works over its operand.
const Shape& domain_of(const Node& node);
/// The unit of what a node makes, takes stretches of or puts together.
ColumnUnit columns_of(const Node& node);

// --- bodies

/// What a value of a body is: an element for every row and column, one for each row, one for each
/// column (alike in all rows), or one for everything.
enum class RowKind : uint8_t { full, row, column, scalar };

/// The model of a body. Vectors are indexed by node id; all results of a node share kind, stage and
/// space.
struct RowModel {
  Shape lead;  ///< the rows' axes
  std::vector<RowKind> kind;
  std::vector<int> stage;
  std::vector<int> space;  ///< index into `spaces`; -1 for rows and scalars
  std::vector<ColumnUnit> spaces;
  int stages = 0;  ///< the largest stage

  int64_t rows() const { return lead.elements(); }
  RowKind kind_of(Value value) const { return kind[size_t(value.node->id)]; }
  int stage_of(Value value) const { return stage[size_t(value.node->id)]; }
  /// Columns per part of the value's column space; 1 for rows and scalars.
  int64_t unit_of(Value value) const;
  /// Width of the value in units: 4 for an LSTM's pre-gates. 1 for rows and scalars.
  int parts_of(Value value) const;
};

/// The model of a body, or says in `why_not` which node breaks which rule. Inputs that products
/// have as their right operand are matrices; other inputs are rows, columns or scalars by their
/// shape.
std::optional<RowModel> analyse_rows(const Graph& body, std::string* why_not = nullptr);

}  // namespace graphc::core
