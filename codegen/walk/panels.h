// SPDX-License-Identifier: Apache-2.0
// Right operands of products put into panels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/type.h"

namespace graphc::core::cpu {

/// How many rows ahead of its copy a row is fetched: soon enough, and not so early that rows whose
/// length is a power of two, which share a few lines of the first-level cache, drive each other
/// out.
inline constexpr int64_t kRowsAhead = 4;

/// Brings `bytes` at an address to the first-level cache. It may be no address: there are no
/// faults.
inline void fetch(uintptr_t address, size_t bytes) {
  constexpr size_t kLine = 64;
  for (size_t line = 0; line < bytes; line += kLine)
    __builtin_prefetch(reinterpret_cast<const void*>(address + line));
}

/// A block of a matrix [k, parts * unit] as it lies in memory; strides in bytes.
struct PanelSource {
  const char* base = nullptr;  ///< at k 0, part 0, and the block's first column
  int64_t k_stride = 0, column_stride = 0, part_stride = 0;
  int64_t k = 0;
  int parts = 1;
  int64_t columns = 0;       ///< columns of each part that exist: of a block at most `width`
  int64_t width = 0;         ///< of a part in the panel
  int bf16_parts = 1;        ///< of which an element is the sum (PanelForm), by matrix tiles
  DType dtype = DType::f32;  ///< bf16 only by matrix tiles
};

/// Writes the block as [k][parts][width], zero where columns end.
void make_panel(const PanelSource& source, float* panel);

/// The same for as many blocks as `columns` are, one panel behind the other.
void make_panels(const PanelSource& source, float* panels);

}  // namespace graphc::core::cpu
