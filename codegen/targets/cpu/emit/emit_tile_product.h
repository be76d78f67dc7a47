// SPDX-License-Identifier: Apache-2.0
// Products by matrix tiles: the sums of a block of two by two tiles are held in registers while k
// runs.
#pragma once

#include "codegen/targets/cpu/emit/emit_finish.h"
#include "codegen/targets/cpu/jit/code_module.h"
#include "runtime/matrix_tiles.h"

namespace graphc::core::cpu {

/// Distance of the left tiles of two successive term tiles: two row tiles.
inline constexpr int64_t kLeftPairBytes = 2 * kTileBytes;

/// What a loop over matrix tiles is specialised for. At most two by two: four of the eight tile
/// registers hold sums.
struct TileProductLoop {
  int row_tiles = 1;     ///< row tiles
  int column_tiles = 1;  ///< column tiles, which are adjacent in the panel
  /// The number of bf16 parts of a factor; in each term tile the tiles of the parts follow each
  /// other. Only products of parts p and q with p + q < bf16_parts count.
  int bf16_parts = 1;
  /// Whether the panel is reread soon and the left tiles bypass the first-level cache, or the
  /// reverse.
  bool panel_stays = true;
};

/// Defines a function for each loop:
///
///   void (ptr a, ptr panel, i64 k, ptr sums, i64 sums_row, i1 first, i64 rows, ptr waiting)
///
/// The left tiles are at a + t * kLeftPairBytes + (row tile) * kTileBytes, those of the matrix at
/// panel + (t * column_tiles + column tile) * kTileBytes. t is the term tile or, for factors in
/// parts, (term tile) * bf16_parts + part. Sums of products in parts that are not finite are
/// recomputed (codegen/targets/cpu/emit/emit_recomputed_sums.h). The sums of k terms are stored in
/// rows of `sums` or, unless `first`, added to them (with one bf16 and tile registers the sum
/// continues from the stored value). Whole tiles are stored; with MatrixTiles::dot_products at
/// least the first `rows` rows. Meanwhile `finish` finishes rows of the previous tile, `waiting`
/// (codegen/targets/cpu/emit/emit_finish.h), when its clock says so: in line for two by two tiles,
/// or by a call of its function. Both are null with MatrixTiles::dot_products.
llvm::Function* define_tile_product(CodeModule& kernel, const TileProductLoop& loop,
                                    const FinishRows* finish);

}  // namespace graphc::core::cpu
