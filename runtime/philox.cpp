// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), block by
// block. A round has two 32 x 32 to 64 bit products and depends on the previous round, so the wide
// version interleaves four vectors of blocks.
#include "runtime/philox.h"

#include <algorithm>

#if defined(__x86_64__)
// GCC's headers initialise vectors with themselves (its bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#endif

namespace graphc::core {
namespace {

constexpr int kRounds = 10;
constexpr uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
constexpr uint32_t kKeyStep0 = 0x9E3779B9u, kKeyStep1 = 0xBB67AE85u;

/// The keys of a round.
struct RoundKeys {
  explicit RoundKeys(int64_t key) : first(uint32_t(key)), second(uint32_t(uint64_t(key) >> 32)) {}
  void next() {
    first += kKeyStep0;
    second += kKeyStep1;
  }
  uint32_t first, second;
};

float number_of(uint32_t word) { return float(int32_t(word >> 8)) * 0x1p-24f; }

#if defined(__x86_64__)

#define GRAPHC_WIDE __attribute__((target("avx512f"))) static inline
#define GRAPHC_EACH_VECTOR _Pragma("GCC unroll 4") for (int v = 0; v < kVectors; ++v)

/// Vectors of eight blocks, and their number per iteration.
constexpr int kVectors = 4, kBlocksOfVector = 8;
constexpr int64_t kBlocksAtOnce = kVectors * kBlocksOfVector;

/// One word of each block of a vector, in the lower half of its lane; the upper half is ignored.
struct WideBlocks {
  __m512i word[4][kVectors];
};

GRAPHC_WIDE __m512i xor3(__m512i a, __m512i b, __m512i c) {
  return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

GRAPHC_WIDE void mix(WideBlocks& x, const RoundKeys& keys) {
  const __m512i multiplier0 = _mm512_set1_epi64(kMultiplier0);
  const __m512i multiplier1 = _mm512_set1_epi64(kMultiplier1);
  const __m512i key0 = _mm512_set1_epi64(keys.first), key1 = _mm512_set1_epi64(keys.second);
  GRAPHC_EACH_VECTOR {
    const __m512i product0 = _mm512_mul_epu32(x.word[0][v], multiplier0);
    const __m512i product1 = _mm512_mul_epu32(x.word[2][v], multiplier1);
    x.word[0][v] = xor3(_mm512_srli_epi64(product1, 32), x.word[1][v], key0);
    x.word[1][v] = product1;
    x.word[2][v] = xor3(_mm512_srli_epi64(product0, 32), x.word[3][v], key1);
    x.word[3][v] = product0;
  }
}

GRAPHC_WIDE void store_numbers(float* numbers, __m512i words) {
  _mm512_storeu_ps(numbers, _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(words, 8)),
                                          _mm512_set1_ps(0x1p-24f)));
}

/// The numbers of kBlocksAtOnce blocks.
__attribute__((target("avx512f"))) void fill_wide(int64_t key, int64_t first_block,
                                                  float* numbers) {
  // Adjacent lanes of a vector are four blocks apart, so that interleaving quarters puts four
  // consecutive numbers into one vector.
  const __m512i places = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
  WideBlocks x;
  GRAPHC_EACH_VECTOR {
    x.word[0][v] =
        _mm512_add_epi64(places, _mm512_set1_epi64(first_block + v * int64_t(kBlocksOfVector)));
    x.word[1][v] = _mm512_srli_epi64(x.word[0][v], 32);
    x.word[2][v] = x.word[3][v] = _mm512_setzero_si512();
  }
  RoundKeys keys(key);
  for (int round = 0; round < kRounds; ++round, keys.next()) mix(x, keys);
  constexpr __mmask16 upper = 0xAAAA;
  GRAPHC_EACH_VECTOR {
    const __m512i first_pair =
        _mm512_mask_shuffle_epi32(x.word[0][v], upper, x.word[1][v], _MM_PERM_ENUM(0b10100000));
    const __m512i second_pair =
        _mm512_mask_shuffle_epi32(x.word[2][v], upper, x.word[3][v], _MM_PERM_ENUM(0b10100000));
    float* const out = numbers + v * kBlocksOfVector * kNumbersOfBlock;
    store_numbers(out, _mm512_unpacklo_epi64(first_pair, second_pair));
    store_numbers(out + 16, _mm512_unpackhi_epi64(first_pair, second_pair));
  }
}

#endif

}  // namespace

void fill_uniform_plainly(int64_t key, int64_t first_block, std::span<float> numbers) {
  // Several blocks at a time: the rounds of one block depend on each other.
  constexpr size_t side_by_side = 16;
  for (size_t begin = 0; begin < numbers.size(); begin += side_by_side * kNumbersOfBlock) {
    uint32_t words[4][side_by_side] = {};
    for (uint32_t b = 0; b < side_by_side; ++b, ++first_block) {
      words[0][b] = uint32_t(first_block);
      words[1][b] = uint32_t(uint64_t(first_block) >> 32);
    }
    RoundKeys keys(key);
    for (int round = 0; round < kRounds; ++round, keys.next()) {
      for (size_t b = 0; b < side_by_side; ++b) {
        const uint64_t product0 = uint64_t(words[0][b]) * kMultiplier0;
        const uint64_t product1 = uint64_t(words[2][b]) * kMultiplier1;
        words[0][b] = uint32_t(product1 >> 32) ^ words[1][b] ^ keys.first;
        words[1][b] = uint32_t(product1);
        words[2][b] = uint32_t(product0 >> 32) ^ words[3][b] ^ keys.second;
        words[3][b] = uint32_t(product0);
      }
    }
    float drawn[side_by_side][kNumbersOfBlock];
    for (size_t b = 0; b < side_by_side; ++b) {
      for (size_t w = 0; w < kNumbersOfBlock; ++w) drawn[b][w] = number_of(words[w][b]);
    }
    const size_t count = std::min(numbers.size() - begin, side_by_side * kNumbersOfBlock);
    std::copy_n(&drawn[0][0], count, &numbers[begin]);
  }
}

void fill_uniform(int64_t key, int64_t first_block, std::span<float> numbers) {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx512f");
  constexpr size_t at_once = size_t(kBlocksAtOnce * kNumbersOfBlock);
  for (; wide && numbers.size() >= at_once; numbers = numbers.subspan(at_once)) {
    fill_wide(key, first_block, numbers.data());
    first_block += kBlocksAtOnce;
  }
#endif
  fill_uniform_plainly(key, first_block, numbers);
}

}  // namespace graphc::core
