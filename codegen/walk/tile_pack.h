// SPDX-License-Identifier: Apache-2.0
// Packing of the operands of products by matrix tiles: f32 rounded to bf16, or bf16 unchanged, in
// the order in which tiles are loaded.
//
// Both operands are items of terms: an item is a row of the left operand or a column of the matrix.
// A tile holds 16 items of 32 terms: [item][pair of terms][2] for the left operand, [pair of
// terms][item][2] for the matrix.
//
// A number is one bf16 or the sum of two or three parts: the nearest bf16, then the bf16 nearest to
// the remainder. Three parts represent the number exactly: 24 binary digits in signed parts of 8. A
// finite number that would round to infinity becomes the largest bf16 and a remainder. For a number
// that is not finite, all parts but the first are zero.
#pragma once

#include <cstdint>

#include "ir/type.h"
#include "runtime/matrix_tiles.h"

namespace graphc::core::cpu {

/// Items of f32 or bf16 terms in memory; strides in bytes.
struct TileSource {
  const char* base = nullptr;  ///< the first item's term 0
  int64_t item_stride = 0, term_stride = 0;
  int64_t items = 0, terms = 0;
  DType dtype = DType::f32;
};

/// The outer index of a tile.
enum class TileOrder : uint8_t { items_first, pairs_first };

/// The number of tiles that so many items or terms need.
inline int64_t item_tiles(int64_t items) { return (items + kTileRows - 1) / kTileRows; }
inline int64_t term_tiles(int64_t terms) { return (terms + kTileK - 1) / kTileK; }

/// The destination of tiles. Tile (i, t) of part p of the numbers goes to `base + i / 2 *
/// pair_bytes + i % 2 * second_bytes + t * term_tile_bytes + p * part_bytes`: two neighbouring
/// tiles of items are loaded together.
struct TilePlace {
  char* base = nullptr;
  int64_t pair_bytes = 0, term_tile_bytes = 0, part_bytes = 0;
  int parts = 1;                      ///< bf16 parts that sum to a number
  int64_t second_bytes = kTileBytes;  ///< from the first tile of items of a pair to the second
};

/// Writes the tiles of the source, with zeros after the last item or term. Rounds to nearest, ties
/// to even. Denormal numbers and parts become zero; NaN stays NaN. Numbers that are bf16 have one
/// part and stay unchanged: the tile instructions treat denormal ones as zero.
void pack_tiles(const TileSource& source, TileOrder order, const TilePlace& to);

/// The same with portable instructions: the fallback of pack_tiles().
void pack_tiles_portably(const TileSource& source, TileOrder order, const TilePlace& to);

}  // namespace graphc::core::cpu
