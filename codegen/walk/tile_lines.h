// SPDX-License-Identifier: Apache-2.0
// Packing of full tiles, a line of them at a time. Nearly all tiles of a large matrix are full, and
// this packs them as fast as memory is read. (Packing tile by tile, with a check of each for
// missing items, takes twice as long.)
#pragma once

#include <cstdint>

#include "codegen/walk/tile_pack.h"

namespace graphc::core::cpu {

/// Tiles whose items, or whose terms, are contiguous in memory. Strides in bytes.
struct TileLine {
  const char* from = nullptr;  ///< the first item and term
  int64_t stride = 0;          ///< from a term to the next where items are contiguous, else from an
                               ///< item to the next
  int64_t tiles = 0;
  /// The first tile. Each pair of tiles follows the previous one after pair_bytes, and the second
  /// tile of a pair follows the first after second_bytes.
  char* to = nullptr;
  int64_t second_bytes = 0;
  int64_t pair_bytes = 0;
};

/// Packs tiles of contiguous items, or of contiguous terms, of single-part numbers. Needs AVX-512
/// with BF16, as does pack_line_in_parts().
void pack_line_of_items(const TileLine& line, DType dtype, TileOrder order);
void pack_line_of_terms(const TileLine& line, DType dtype, TileOrder order);

/// Packs tiles in pairs_first order from contiguous f32 items, each number as `parts` parts whose
/// tiles are part_bytes apart. Returns false if a number needs special treatment; the tiles written
/// are then invalid.
bool pack_line_in_parts(const TileLine& line, int parts, int64_t part_bytes);

}  // namespace graphc::core::cpu
