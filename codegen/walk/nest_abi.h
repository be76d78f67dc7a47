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

/// For a product by matrix tiles, `a` is the left operand as tiles, starting at the first row of
/// the call: pairs of row tiles, each with all its terms. `a_row` is the size of a pair divided by
/// its rows.
struct NestArguments {
  const NestOperandArguments* operands = nullptr;
  const NestProductArguments* products = nullptr;
  int64_t row_begin = 0, row_end = 0;
  int64_t column_begin = 0, column_end = 0;  ///< in units; begin is a multiple of the block width
  /// Sums kept over several calls with successive ranges of k, [parts][width] f32 for each row and
  /// block. Each call adds the sum of its range or, for bf16 by matrix tiles, continues the sum.
  /// Null if there is one call. Matrix tiles write whole tiles of rows.
  void* partial = nullptr;
  int64_t partial_row = 0, partial_block = 0;  ///< bytes from one row, or block, to the next
  int64_t first = 1;                           ///< `partial` holds no sums yet
  int64_t last = 1;  ///< run the body; otherwise only store the sums in `partial`
  /// Bytes of the panels that are used with each tile of rows, so that its left operand is read
  /// once for all of them: a part of the second-level cache. At least one panel is used.
  int64_t panel_group = 512 << 10;
};

/// How many panels of `panel_bytes` are used with each tile of rows.
inline int64_t panels_in_group(int64_t panel_bytes, const NestArguments& arguments) {
  return std::max<int64_t>(arguments.panel_group / std::max<int64_t>(panel_bytes, 1), 1);
}

using NestFunction = void (*)(const NestArguments*);

}  // namespace graphc::core::cpu
