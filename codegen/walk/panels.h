// SPDX-License-Identifier: Apache-2.0
// Packing of the right operands of products into panels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/type.h"

namespace graphc::core::cpu {

/// How many rows ahead of its copy a row is prefetched: early enough, but not so early that rows
/// whose length is a power of two, which map to a few lines of the first-level cache, evict each
/// other.
inline constexpr int64_t kRowsAhead = 4;

/// Prefetches `bytes` at an address into the first-level cache. The address may be invalid:
/// prefetches do not fault.
inline void fetch(uintptr_t address, size_t bytes) {
  constexpr size_t kLine = 64;
  for (size_t line = 0; line < bytes; line += kLine)
    __builtin_prefetch(reinterpret_cast<const void*>(address + line));
}

/// A block of a matrix [k, parts * unit] in memory, unpacked; strides in bytes.
struct PanelSource {
  const char* base = nullptr;  ///< element at k 0, part 0 and the block's first column
  int64_t k_stride = 0, column_stride = 0, part_stride = 0;
  int64_t k = 0;
  int parts = 1;
  int64_t columns = 0;       ///< columns of each part that exist; for a block at most `width`
  int64_t width = 0;         ///< of a part in the panel
  int bf16_parts = 1;        ///< bf16 per element (PanelForm); 1 unless by matrix tiles
  DType dtype = DType::f32;  ///< bf16 only by matrix tiles
};

/// Writes the block as [k][parts][width], with zeros after the last column.
void make_panel(const PanelSource& source, float* panel);

/// The same for all blocks that `columns` covers, as consecutive panels.
void make_panels(const PanelSource& source, float* panels);

}  // namespace graphc::core::cpu
