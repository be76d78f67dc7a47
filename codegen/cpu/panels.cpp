// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/panels.h"

#include <algorithm>
#include <cstring>

namespace graphc::cpu {
namespace {

float element(const PanelSource& s, int64_t k, int part, int64_t column) {
  float value;
  std::memcpy(&value, s.base + k * s.k_stride + part * s.part_stride + column * s.column_stride,
              sizeof value);
  return value;
}

/// Brings `bytes` at an address to the first-level cache. It may be no address: there are no
/// faults.
void fetch(uintptr_t address, size_t bytes) {
  constexpr size_t kLine = 64;
  for (size_t line = 0; line < bytes; line += kLine)
    __builtin_prefetch(reinterpret_cast<const void*>(address + line));
}

/// Neighbouring columns lie side by side: whole rows are copied. They lie in as many pages, so that
/// nothing but this fetches them in time.
void pack_rows(const PanelSource& s, float* panel) {
  constexpr int64_t kFetchAhead = 16;
  const auto base = reinterpret_cast<uintptr_t>(s.base);
  const size_t bytes = size_t(s.columns) * sizeof(float);
  const size_t rest = size_t(s.width - s.columns) * sizeof(float);
  for (int64_t k = 0; k < s.k; ++k) {
    for (int part = 0; part < s.parts; ++part, panel += s.width) {
      fetch(base + uintptr_t((k + kFetchAhead) * s.k_stride + part * s.part_stride), bytes);
      std::memcpy(panel, s.base + k * s.k_stride + part * s.part_stride, bytes);
      if (rest > 0) std::memset(panel + s.columns, 0, rest);
    }
  }
}

/// Neighbouring k lie side by side: transposed in squares that stay in the first-level cache.
void pack_transposed(const PanelSource& s, float* panel) {
  constexpr int64_t kSquare = 16;
  const int64_t row = s.parts * s.width;
  for (int64_t k0 = 0; k0 < s.k; k0 += kSquare) {
    const int64_t k1 = std::min(k0 + kSquare, s.k);
    for (int part = 0; part < s.parts; ++part) {
      float* to = panel + k0 * row + part * s.width;
      for (int64_t column = 0; column < s.columns; ++column) {
        const auto* from = reinterpret_cast<const float*>(s.base + part * s.part_stride +
                                                          column * s.column_stride);
        for (int64_t k = k0; k < k1; ++k) to[(k - k0) * row + column] = from[k];
      }
      for (int64_t k = k0; k < k1; ++k) {
        std::fill(to + (k - k0) * row + s.columns, to + (k - k0) * row + s.width, 0.0f);
      }
    }
  }
}

}  // namespace

void make_panel(const PanelSource& s, float* panel) {
  if (s.column_stride == sizeof(float)) return pack_rows(s, panel);
  if (s.k_stride == sizeof(float)) return pack_transposed(s, panel);
  for (int64_t k = 0; k < s.k; ++k) {
    for (int part = 0; part < s.parts; ++part) {
      for (int64_t column = 0; column < s.width; ++column) {
        *panel++ = column < s.columns ? element(s, k, part, column) : 0.0f;
      }
    }
  }
}

}  // namespace graphc::cpu
