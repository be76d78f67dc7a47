// SPDX-License-Identifier: Apache-2.0
// Numbers as sums of bf16, 32 at a time in two vectors of 16. Each part is the nearest bf16, and
// the remainder is the number for the next part (see tile_pack.h).
#pragma once

#include <cstdint>

#include "codegen/walk/tile_vectors.h"

namespace graphc::core::cpu {

inline constexpr uint32_t kInfinity = 0x7f800000, kLargestBf16 = 0x7f7f0000;

/// The elementwise larger magnitudes, as bits.
GRAPHC_WIDE __m512i larger(__m512i largest, __m512 numbers) {
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  return _mm512_max_epu32(largest, _mm512_and_si512(_mm512_castps_si512(numbers), magnitude));
}

/// Whether numbers with these largest magnitudes are all finite and none rounds to infinity.
/// Otherwise their parts need special treatment.
GRAPHC_WIDE bool have_plain_parts(__m512i largest) {
  return _mm512_cmpgt_epu32_mask(largest, _mm512_set1_epi32(int(kLargestBf16))) == 0;
}

/// The next part of 32 contiguous terms.
GRAPHC_WIDE __m512i part_of_terms(__m512 low, __m512 high) {
  return __m512i(_mm512_cvtne2ps_pbh(high, low));
}

GRAPHC_WIDE __m512 widened(__m256i bf16) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16));
}

/// Subtracts that part, which leaves the remainder.
GRAPHC_WIDE void take_part_of_terms(__m512i part, __m512& low, __m512& high) {
  low = _mm512_sub_ps(low, widened(_mm512_castsi512_si256(part)));
  high = _mm512_sub_ps(high, widened(_mm512_extracti64x4_epi64(part, 1)));
}

/// The next part of the even and odd terms of 16 items, as pairs.
GRAPHC_WIDE __m512i part_of_pairs(__m512 even, __m512 odd) {
  return _mm512_permutexvar_epi16(interleaved(), part_of_terms(even, odd));
}

GRAPHC_WIDE void take_part_of_pairs(__m512i part, __m512& even, __m512& odd) {
  const __m512i upper = _mm512_set1_epi32(int(0xffff0000));
  even = _mm512_sub_ps(even, _mm512_castsi512_ps(_mm512_slli_epi32(part, 16)));
  odd = _mm512_sub_ps(odd, _mm512_castsi512_ps(_mm512_and_si512(part, upper)));
}

}  // namespace graphc::core::cpu
