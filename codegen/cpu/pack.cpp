// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/pack.h"

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

/// Neighbouring columns lie side by side: whole rows are copied.
void pack_rows(const PanelSource& s, float* panel) {
  const size_t bytes = size_t(s.columns) * sizeof(float);
  const size_t rest = size_t(s.width - s.columns) * sizeof(float);
  for (int64_t k = 0; k < s.k; ++k) {
    for (int part = 0; part < s.parts; ++part, panel += s.width) {
      std::memcpy(panel, s.base + k * s.k_stride + part * s.part_stride, bytes);
      if (rest > 0) std::memset(panel + s.columns, 0, rest);
    }
  }
}

using Floats4 = float __attribute__((vector_size(16)));

Floats4 load4(const char* from) {
  Floats4 x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

void store4(float* to, Floats4 x) { std::memcpy(to, &x, sizeof x); }

/// Four columns of four k, `from_stride` bytes apart, as four rows, `to_stride` floats apart.
void transpose4(const char* from, int64_t from_stride, float* to, int64_t to_stride) {
  const Floats4 a = load4(from), b = load4(from + from_stride), c = load4(from + 2 * from_stride),
                d = load4(from + 3 * from_stride);
  const Floats4 ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7),
                cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store4(to, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  store4(to + to_stride, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  store4(to + 2 * to_stride, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  store4(to + 3 * to_stride, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}

/// Neighbouring k lie side by side: transposed in squares that stay in the first-level cache.
void pack_transposed(const PanelSource& s, float* panel) {
  constexpr int64_t kSquare = 16;
  const int64_t row = s.parts * s.width;
  const auto one = [](const char* from) {
    float value;
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  for (int64_t k0 = 0; k0 < s.k; k0 += kSquare) {
    const int64_t k1 = std::min(k0 + kSquare, s.k);
    for (int part = 0; part < s.parts; ++part) {
      float* to = panel + k0 * row + part * s.width;
      const char* from = s.base + part * s.part_stride + k0 * int64_t(sizeof(float));
      int64_t column = 0;
      for (; column + 4 <= s.columns; column += 4, from += 4 * s.column_stride) {
        int64_t k = 0;
        for (; k + 4 <= k1 - k0; k += 4)
          transpose4(from + k * 4, s.column_stride, to + k * row + column, row);
        for (; k < k1 - k0; ++k) {
          for (int64_t i = 0; i < 4; ++i)
            to[k * row + column + i] = one(from + i * s.column_stride + k * 4);
        }
      }
      for (; column < s.columns; ++column, from += s.column_stride) {
        for (int64_t k = 0; k < k1 - k0; ++k) to[k * row + column] = one(from + k * 4);
      }
      for (int64_t k = 0; k < k1 - k0; ++k)
        std::fill(to + k * row + s.columns, to + k * row + s.width, 0.0f);
    }
  }
}

}  // namespace

void pack_panel(const PanelSource& s, float* panel) {
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
