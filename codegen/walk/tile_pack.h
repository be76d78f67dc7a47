// SPDX-License-Identifier: Apache-2.0
// Operands of products by matrix tiles: f32 rounded to bf16, or bf16 as they are, in the order in
// which tiles are loaded.
//
// Both operands are items of terms: rows of the left one, columns of the matrix. A tile holds 16
// items of 32 terms: [item][pair of terms][2] of the left operand, [pair of terms][item][2] of the
// matrix.
//
// A number is one bf16, or the sum of two or three: the nearest one, then the one nearest to what
// is left. Three are the number itself: 24 binary digits in signed parts of 8. What rounds to
// infinity without being it is the largest bf16 and a rest; of what is not finite all but the first
// part are zeros.
#pragma once

#include <cstdint>

#include "ir/type.h"
#include "runtime/matrix_tiles.h"

namespace graphc::core::cpu {

/// Items of f32 or bf16 terms as they lie in memory; strides in bytes.
struct TileSource {
  const char* base = nullptr;  ///< at the first item, term 0
  int64_t item_stride = 0, term_stride = 0;
  int64_t items = 0, terms = 0;
  DType dtype = DType::f32;
};

/// Which index of a tile comes first.
enum class TileOrder : uint8_t { items_first, pairs_first };

/// Tiles that so many items or terms need.
inline int64_t item_tiles(int64_t items) { return (items + kTileRows - 1) / kTileRows; }
inline int64_t term_tiles(int64_t terms) { return (terms + kTileTerms - 1) / kTileTerms; }

/// Where tiles go: tile (i, t) of part p of the numbers to `base + i / 2 * pair_bytes + i % 2 *
/// second_bytes + t * term_tile_bytes + p * part_bytes`: those of two neighbouring tiles of items
/// are loaded together.
struct TilePlace {
  char* base = nullptr;
  int64_t pair_bytes = 0, term_tile_bytes = 0, part_bytes = 0;
  int parts = 1;                      ///< bf16 that a number is the sum of
  int64_t second_bytes = kTileBytes;  ///< from the first tile of items of a pair to the second
};

/// Writes the tiles of the source, zero where items or terms end. Rounds to nearest, ties to even;
/// denormal numbers and parts become zeros; what is not a number stays so. Numbers that are bf16
/// have one part and stay as they are: what multiplies tiles takes denormal ones for zeros.
void pack_tiles(const TileSource& source, TileOrder order, const TilePlace& to);

/// The same without instructions that not every processor has: what pack_tiles() does where it
/// must.
void pack_tiles_portably(const TileSource& source, TileOrder order, const TilePlace& to);

}  // namespace graphc::core::cpu
