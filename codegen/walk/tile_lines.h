// SPDX-License-Identifier: Apache-2.0
// Full tiles, a line of them at a time: nearly all of a large matrix, filled as fast as memory is
// read. (Tile by tile, with what each of them might lack asked for, takes twice as long.)
#pragma once

#include <cstdint>

#include "codegen/walk/tile_pack.h"

namespace graphc::core::cpu {

/// Tiles that lie side by side in memory, as their items do or their terms. Strides in bytes.
struct TileLine {
  const char* from = nullptr;  ///< the first item and term
  int64_t stride = 0;          ///< from a term to the next where items lie side by side, or else
  int64_t tiles = 0;
  char* to = nullptr;  ///< the first tile; the second, third... are so far from it:
  int64_t second_bytes = 0;
  int64_t pair_bytes = 0;
};

/// Fills tiles of items that lie side by side, or of terms that do, of numbers that have no parts.
/// Needs AVX-512 with BF16, as the next one does.
void pack_line_of_items(const TileLine& line, DType dtype, TileOrder order);
void pack_line_of_terms(const TileLine& line, DType dtype, TileOrder order);

/// Fills tiles, pairs first, of f32 items that lie side by side, each number as so many parts,
/// whose tiles lie part_bytes apart. False if a number needs more care than that: what was filled
/// is worth nothing.
bool pack_line_in_parts(const TileLine& line, int parts, int64_t part_bytes);

}  // namespace graphc::core::cpu
