// SPDX-License-Identifier: Apache-2.0
// Products by matrix tiles: sums of a block of two by two tiles held in registers while k runs.
#pragma once

#include "codegen/targets/cpu/emit/emit_finish.h"
#include "codegen/targets/cpu/jit/code_module.h"
#include "runtime/matrix_tiles.h"

namespace graphc::core::cpu {

/// From the left tiles of one tile of terms to those of the next: two tiles of rows.
inline constexpr int64_t kLeftPairBytes = 2 * kTileBytes;

/// What a loop over matrix tiles is specialised for: at most two by two, of eight tiles four are
/// sums.
struct TileProductLoop {
  int row_tiles = 1;     ///< tiles of rows
  int column_tiles = 1;  ///< tiles of columns, which lie side by side in the panel
  /// How many bf16 a factor is the sum of, whose tiles follow each other in each term tile. Of the
  /// products of parts p and q those with p + q < bf16_parts count.
  int bf16_parts = 1;
  /// Which operand is read again soon and which goes past the first-level cache.
  bool panel_stays = true;
};

/// A function of its own for each loop:
///
///   void (ptr a, ptr panel, i64 k, ptr sums, i64 sums_row, i1 first, i64 rows, ptr waiting)
///
/// The left tiles lie at a + t * kLeftPairBytes + (tile of rows) * kTileBytes, those of the matrix
/// at panel + (t * column_tiles + tile of columns) * kTileBytes, where t is the tile of terms, or,
/// of factors in parts, (tile of terms) * bf16_parts + part. Sums of such products that are not
/// finite are computed anew (codegen/targets/cpu/emit/emit_recomputed_sums.h). The sums of k terms
/// are stored in, or unless `first` added to, rows of `sums` (one bf16 by tiles goes on with what
/// lies there): whole tiles of them, or where MatrixTiles::dot_products at least the first `rows`.
/// Meanwhile rows of the tile before, which `waiting` is (codegen/targets/cpu/emit/emit_finish.h),
/// are finished by `finish` when its clock says so: in line, of two by two tiles, or by its
/// function. Null where MatrixTiles::dot_products.
llvm::Function* define_tile_product(CodeModule& kernel, const TileProductLoop& loop,
                                    const FinishRows* finish);

}  // namespace graphc::core::cpu
