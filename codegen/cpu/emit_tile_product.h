// SPDX-License-Identifier: Apache-2.0
// Products by matrix tiles: sums of a block of two by two tiles held in registers while k runs.
#pragma once

#include "codegen/cpu/emit_internal.h"

namespace graphc::cpu {

/// What a loop over matrix tiles is specialised for: at most two by two, of eight tiles four are
/// sums.
struct TileProductLoop {
  int row_tiles = 1;     ///< tiles of rows
  int column_tiles = 1;  ///< tiles of columns
  /// Tiles of columns that a term tile of the panel has: from one to the next.
  int panel_tiles = 1;
  /// How many bf16 a factor is the sum of, whose tiles follow each other in each term tile. Of the
  /// products of parts p and q those with p + q < bf16_parts count.
  int bf16_parts = 1;
};

/// A function of its own for each loop:
///
///   void (ptr a, i64 a_tile, ptr panel, i64 k, ptr sums, i64 sums_row, i1 first, i64 rows)
///
/// The left tiles lie at a + (tile of rows) * a_tile + t * kTileBytes, those of the matrix at
/// panel + (t * panel_tiles + tile of columns) * kTileBytes, where t is the tile of terms, or, of
/// factors in parts, (tile of terms) * bf16_parts + part. Sums of such products that are not finite
/// are computed anew (codegen/cpu/emit_mended_sums.h). The sums of k
/// terms are stored in, or unless `first` added to, rows of `sums`: whole tiles of them, or where
/// MatrixTiles::dot_products at least the first `rows`.
llvm::Function* define_tile_product(CodeModule& kernel, const TileProductLoop& loop);

}  // namespace graphc::cpu
