// SPDX-License-Identifier: Apache-2.0
// How a packed matrix lies in memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ir/type.h"

namespace graphc::core {

/// A matrix [k, parts * unit] in panels: [blocks][k / k_group][parts][width][k_group], padded with
/// zeros where units or k end. A tile reads one block from front to back. For matrix tiles of
/// `k_tile` terms and `columns` columns: [blocks][parts * width / columns / 2][k /
/// k_tile][2][k_tile / k_group][columns][k_group], two tiles side by side (or the last one alone)
/// and then the next terms; of elements that are sums of several bf16 the tiles of the first, of
/// the second ... for each k_tile.
struct PanelForm {
  int64_t k = 0, unit = 0, parts = 1;
  int64_t width = 16;  ///< units in a block
  DType dtype = DType::f32;
  int64_t k_group = 1;
  int64_t k_tile = 1;
  int64_t bf16_parts = 1;   ///< how many bf16 an element is the sum of
  DType from = DType::f32;  ///< the matrix's, of which panels are made

  int64_t blocks() const { return (unit + width - 1) / width; }
  int64_t padded_k() const {
    const int64_t multiple = std::max(k_group, k_tile);
    return (k + multiple - 1) / multiple * multiple;
  }
  int64_t block_bytes() const { return padded_k() * parts * width * size_of(dtype) * bf16_parts; }
  int64_t bytes() const { return blocks() * block_bytes(); }
  bool operator==(const PanelForm&) const = default;
};

}  // namespace graphc::core
