// SPDX-License-Identifier: Apache-2.0
// Tiles as sixteen vectors of 512 bits: operations that both packers need.
#pragma once

// GCC's headers initialise vectors with themselves (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

// Functions that use instruction sets beyond the build's; call them only where the processor has
// them.
#define GRAPHC_WIDE \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"))) static inline

// Unrolls loops over the rows of a tile; otherwise the rows would be kept in memory.
#define GRAPHC_ALL_ROWS _Pragma("GCC unroll 16")

namespace graphc::core::cpu {

/// The permutation that interleaves two vectors of 16 numbers: lane i of the first next to lane i
/// of the second.
GRAPHC_WIDE __m512i interleaved() {
  return _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
                          6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
}

/// rows[i][j] becomes rows[j][i]: first 32-bit lanes within 128-bit quarters, then the quarters.
GRAPHC_WIDE void transpose(__m512i (&rows)[16]) {
  __m512i t[16];
  GRAPHC_ALL_ROWS
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  GRAPHC_ALL_ROWS
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  GRAPHC_ALL_ROWS
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xdd);
  }
  GRAPHC_ALL_ROWS
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    rows[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    rows[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

}  // namespace graphc::core::cpu
