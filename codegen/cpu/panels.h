// SPDX-License-Identifier: Apache-2.0
// Right operands of products put into panels.
#pragma once

#include <cstdint>

namespace graphc::cpu {

/// A block of a matrix [k, parts * unit] of f32 as it lies in memory; strides in bytes.
struct PanelSource {
  const char* base = nullptr;  ///< at k 0, part 0, and the block's first column
  int64_t k_stride = 0, column_stride = 0, part_stride = 0;
  int64_t k = 0;
  int parts = 1;
  int64_t columns = 0;  ///< columns of each part that exist: at most `width`
  int64_t width = 0;    ///< of a part in the panel
  int bf16_parts = 1;   ///< of which an element is the sum (PanelForm), by matrix tiles
};

/// Writes the block as [k][parts][width], zero where columns end.
void make_panel(const PanelSource& source, float* panel);

}  // namespace graphc::cpu
