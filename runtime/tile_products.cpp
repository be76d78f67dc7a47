// SPDX-License-Identifier: Apache-2.0
// All columns of a row at once, in vectors: tests go through some billion of these products.
#include "runtime/tile_products.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/matrix_tiles.h"

namespace graphc::core {
namespace {

inline float flushed(float x) { return std::abs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

inline float bf16_at(const char* from) {
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return flushed(std::bit_cast<float>(uint32_t(bits) << 16));
}

[[gnu::always_inline]] inline void multiply(char* sums, const char* left, const char* right) {
  float b[kTileK][kTileColumns];
  for (int k = 0; k < kTileK; ++k) {
    for (int n = 0; n < kTileColumns; ++n)
      b[k][n] = bf16_at(right + k / 2 * kTileRowBytes + 4 * n + 2 * (k % 2));
  }
  for (int m = 0; m < kTileRows; ++m) {
    float terms[2][kTileColumns] = {}, row[kTileColumns];
    for (int k = 0; k < kTileK; ++k) {
      const float a = bf16_at(left + m * kTileRowBytes + 2 * k);
      float* term = terms[k % 2];
      for (int n = 0; n < kTileColumns; ++n) term[n] = flushed(std::fma(a, b[k][n], term[n]));
    }
    std::memcpy(row, sums + m * kTileRowBytes, sizeof row);
    for (int n = 0; n < kTileColumns; ++n)
      row[n] = flushed(flushed(row[n]) + flushed(terms[0][n] + terms[1][n]));
    std::memcpy(sums + m * kTileRowBytes, row, sizeof row);
  }
}

/// Where a fused multiply-add is one instruction.
[[gnu::target("avx2,fma")]] void multiply_with_fma(char* sums, const char* left,
                                                   const char* right) {
  multiply(sums, left, right);
}

}  // namespace

void multiply_tiles(char* sums, const char* left, const char* right) {
  static const bool has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_fma)
    multiply_with_fma(sums, left, right);
  else
    multiply(sums, left, right);
}

}  // namespace graphc::core
