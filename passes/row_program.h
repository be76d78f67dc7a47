// SPDX-License-Identifier: Apache-2.0
// Row programs: the one kind of work that map, gemm and recurrent kernels do.
//
// A row program is a closed body over rows (all leading axes) and columns (the last axis). A node
// is *local* if an element of its result needs only the same row and the same unit of its operands,
// *row-global* if it reads whole rows: a product with a captured matrix, a sum or maximum along the
// row. stage(v) is the largest stage of the operands of v, plus 1 if v is row-global; inputs are
// stage 0. Values joined by local nodes share a *column space*; its unit is the smallest width in
// it, and every other width is a whole number of *parts* of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace graphc {

/// What a value of a row program is: an element for every row and column, one for each row, one for
/// each column (alike in all rows), or one for everything.
enum class RowKind : uint8_t { full, row, column, scalar };

struct ColumnSpace {
  int64_t unit = 0;   ///< smallest width
  bool fixed = true;  ///< false while only constants have been seen
};

/// The analysis of a body. Vectors are indexed by node id; all results of a node share kind, stage
/// and space.
struct RowProgram {
  Shape lead;  ///< the rows' axes
  std::vector<RowKind> kind;
  std::vector<int> stage;
  std::vector<int> space;  ///< index into `spaces`; -1 for rows and scalars
  std::vector<ColumnSpace> spaces;
  int stages = 0;  ///< the largest stage

  int64_t rows() const { return lead.elements(); }
  RowKind kind_of(Value value) const { return kind[size_t(value.node->id)]; }
  int stage_of(Value value) const { return stage[size_t(value.node->id)]; }
  /// Units per row of the value's column space; 1 for rows and scalars.
  int64_t unit_of(Value value) const;
  /// Width of the value in units: 4 for an LSTM's pre-gates. 1 for rows and scalars.
  int parts_of(Value value) const;
};

/// True for nodes that read whole rows.
bool is_row_global(const Node& node);

/// True for a product that reads another matrix for each index of the leading axes, on its right or
/// transposed on its left: no row program has it.
bool is_batched_product(const Node& node);

/// Analyses a body, or says in `why_not` which node breaks which rule. Inputs that products have as
/// their right operand are matrices; other inputs are rows, columns or scalars by their shape.
std::optional<RowProgram> analyse_row_program(const Graph& body, std::string* why_not = nullptr);

}  // namespace graphc
