// SPDX-License-Identifier: Apache-2.0
// Nests: the unit of machine code. A nest is one loop nest over rows and columns with a
// straight-line body.
//
// A kernel of any family (map, gemm, recurrent) is a list of nests. Code for a nest is emitted once
// for its program and called with any extents, strides and literals. The body is flat: it works on
// vectors of neighbouring columns, one vector per part of the column space (an LSTM's pre-gates are
// four parts of one unit), so splits and concatenations along columns cost nothing.
//
// - tiles: for each block of columns, for each tile of rows, products accumulate in registers
//   over k; then the body runs row by row on the finished sums.
// - rows: for each row, for each vector of columns, the body; sums and maxima along the row are
//   stored at its end.
// - columns: for each vector of columns, for each row, the body; sums and maxima over the rows are
//   stored at the end.
//
// Every element is summed in one order, k (or the row) ascending, in pieces of fixed size. The
// terms of a piece are added to one accumulator and the sums of pieces to the next, so that long
// sums are as exact as short ones. Sums along a row have one accumulator per lane, combined in a
// fixed tree. The bits of a result depend on the vector width, never on threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/precision.h"
#include "ir/scalar.h"

namespace graphc::core {

enum class NestKind : uint8_t { tiles, row_wise, column_wise };

/// How an operand's address depends on the column.
enum class ColumnStep : uint8_t {
  contiguous,  ///< neighbouring elements
  none,        ///< one element for the whole row (or for everything)
  strided,     ///< a stride given at the call
};

enum class OperandKind : uint8_t {
  load,
  store,
  iota,        ///< an integer: base + row * row_step + part * part_step + column * column_step
  literal,     ///< one number given at the call
  reduce_sum,  ///< written at the end of the row (NestKind::row_wise) or of the column
               ///< (NestKind::column_wise)
  reduce_max,
};

/// An operand as it is stored. The type of a computation on it is that of the instruction
/// (NestInstruction::dtype); the two may differ.
struct NestOperand {
  OperandKind kind = OperandKind::load;
  DType dtype = DType::f32;
  ColumnStep column = ColumnStep::contiguous;
  bool by_row = true;  ///< whether the address moves with the row
  /// Of a store: no record reads the value while it is still in a cache. A hint; it changes no
  /// value.
  bool streaming = false;
};

enum class NestOp : uint8_t {
  load,     ///< operand, part
  product,  ///< product, part
  scalar,   ///< op on a, b, c
  store,    ///< operand, part; the value is a
  reduce,   ///< operand (reduce_sum or reduce_max), part; the value is a
};

struct NestInstruction {
  NestOp kind = NestOp::scalar;
  ScalarOp op = ScalarOp::argument;
  DType dtype = DType::f32;
  int a = -1, b = -1, c = -1;  ///< earlier instructions
  int operand = -1;            ///< index of the operand or product
  int part = 0;
};

/// A product of a nest: the stored types of its operands, the type of its sums and of its result,
/// the number of parts of the result, and which factors are multiplied.
struct NestProduct {
  DType left = DType::f32, right = DType::f32, sum = DType::f32;
  int parts = 1;
  Factors factors = Factors::as_stored;
};

/// The tile of a nest: how many columns of each part are computed at once, and how many rows.
struct TileShape {
  int lanes = 0;                                 ///< elements of a vector; 0: not decided yet
  int vectors = 1;                               ///< vectors of units in a block of columns
  int rows = 6;                                  ///< maximum number of rows in a tile
  int accumulators = 24;                         ///< vectors of sums that fit in the registers
  bool matrix_tiles = false;                     ///< its products use Machine::matrix_tile
  int width() const { return lanes * vectors; }  ///< units in a block
  bool operator==(const TileShape&) const = default;
};

/// See NestProgram::few_terms: those of a piece of a sum.
inline constexpr int64_t kFewTerms = 256;

/// The program of a nest: no extents, strides or literals. Equal programs share machine code.
struct NestProgram {
  NestKind kind = NestKind::row_wise;
  std::vector<NestOperand> operands;
  std::vector<NestProduct> products;
  std::vector<NestInstruction> body;
  /// Of a nest with reductions: a call has at most kFewTerms rows, if it reduces columns, or at
  /// most as many columns, if it reduces rows. So sums may stay in registers or finish several at a
  /// time.
  bool few_terms = false;
  /// Whether a product and the sum that it goes into are rounded once, by a fused multiply-add.
  /// Only nests with few terms contract: their sums stay in registers, and arithmetic takes
  /// longest. See codegen/lower/contraction.h, and
  /// contracted_products() for which.
  bool contracts = false;
  /// The tile on the machine that the step is for. It is chosen once, where the nest is lowered.
  /// The packing of matrices, the division of columns among workers and the emission of code use
  /// it.
  TileShape tile;

  /// Whether it finds a maximum of floats, or compares floats for equality, as the derivative of a
  /// maximum does.
  bool looks_for_maximum() const;

  /// Canonical text: the key of the kernel cache and the output of `dump --stage=kernels`. The tile
  /// is not part of it, because the program and the machine determine it.
  std::string text() const;
};

}  // namespace graphc::core
