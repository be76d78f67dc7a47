// SPDX-License-Identifier: Apache-2.0
// How the walker calls the machine code of a nest: plain C layout, read by emitted code. Strides
// are in bytes, except those of iota, which are in indices.
#pragma once

#include <algorithm>
#include <cstdint>

namespace graphc::core::cpu {

struct NestOperandArguments {
  void* base = nullptr;  ///< at row 0, part 0, column 0; for iota the index there
  int64_t row = 0;
  int64_t part = 0;
  int64_t column = 0;
};

struct NestProductArguments {
  const void* a = nullptr;  ///< left operand at row 0, k 0
  int64_t a_row = 0;
  int64_t a_k = 0;
  const void* panels = nullptr;  ///< right operand: [blocks][k][parts][width] (PanelForm)
  int64_t block = 0;             ///< bytes from one block to the next
  int64_t k = 0;                 ///< number of terms
};

/// Of a product by matrix tiles, `a` is the left operand as tiles from the first row of the call
/// on: pairs of tiles of rows, in each of which come the terms; `a_row` is the size of a pair,
/// divided by its rows.
struct NestArguments {
  const NestOperandArguments* operands = nullptr;
  const NestProductArguments* products = nullptr;
  int64_t row_begin = 0, row_end = 0;
  int64_t column_begin = 0, column_end = 0;  ///< in units; begin is a multiple of the block width
  /// Sums over several calls with successive ranges of k, to which each adds that of its range, or,
  /// of bf16 by matrix tiles, with which it goes on: of each row and block [parts][width] f32; null
  /// for one call. By matrix tiles, whole tiles of rows are written.
  void* partial = nullptr;
  int64_t partial_row = 0, partial_block = 0;  ///< from one row, or block, to the next
  int64_t first = 1;                           ///< `partial` holds nothing yet
  int64_t last = 1;  ///< the body runs; otherwise sums go to `partial` and the body waits
  /// Bytes of the panels that are gone through for each tile of rows, so that its left operand is
  /// read once for all of them: a part of the second-level cache. One panel at least.
  int64_t panel_group = 512 << 10;
};

/// How many panels of `panel_bytes` are gone through for each tile of rows.
inline int64_t panels_in_group(int64_t panel_bytes, const NestArguments& arguments) {
  return std::max<int64_t>(arguments.panel_group / std::max<int64_t>(panel_bytes, 1), 1);
}

using NestFunction = void (*)(const NestArguments*);

}  // namespace graphc::core::cpu
