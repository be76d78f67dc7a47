// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/tile_pack.h"

// GCC's headers begin vectors as themselves (its bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "codegen/cpu/panels.h"

// Functions of instruction sets beyond the build's: called where the processor has them all.
#define GRAPHC_WIDE \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"))) static inline

namespace graphc::cpu {
namespace {

/// One tile of a source: how many of its items and terms there are, and which part of its numbers
/// is wanted, of how many. Numbers that are bf16 are their only part.
struct TilePart {
  const char* base = nullptr;
  int64_t item_stride = 0, term_stride = 0;
  int items = 0, terms = 0;
  DType dtype = DType::f32;
  int part = 0, parts = 1;
};

constexpr uint32_t kInfinity = 0x7f800000, kLargestBf16 = 0x7f7f0000;
/// The largest bf16 below 2^120, which with the largest one would be infinity.
constexpr uint32_t kLargestRest = 0x7b7f0000;

/// As VCVTNE2PS2BF16 rounds.
uint16_t rounded(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kInfinity) return uint16_t(bits >> 16 | 0x40);
  if (magnitude < 0x00800000) return uint16_t(bits >> 16 & 0x8000);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A part of a number that is a sum of several; see load_part().
uint16_t rounded_part(float x, int part) {
  for (uint32_t limit = kLargestBf16;; limit = kLargestRest) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const bool is_finite = (bits & kInfinity) != kInfinity;
    const uint32_t sign = bits & 0x80000000;
    uint16_t nearest = rounded(x);
    if (is_finite && (bits & ~sign) > limit) nearest = uint16_t((sign | limit) >> 16);
    if (part-- == 0) return nearest;
    if (!is_finite) return 0;
    x -= std::bit_cast<float>(uint32_t(nearest) << 16);
  }
}

/// The wanted part of the number that lies there.
uint16_t element_at(const char* from, const TilePart& tile) {
  if (tile.dtype == DType::bf16) {
    uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return bits;
  }
  float x;
  std::memcpy(&x, from, sizeof x);
  return tile.parts == 1 ? rounded(x) : rounded_part(x, tile.part);
}

void pack_portably(const TilePart& part, TileOrder order, char* to) {
  const bool pairs_first = order == TileOrder::pairs_first;
  std::memset(to, 0, kTileBytes);
  for (int item = 0; item < part.items; ++item) {
    for (int term = 0; term < part.terms; ++term) {
      const uint16_t bits =
          element_at(part.base + item * part.item_stride + term * part.term_stride, part);
      const int first = pairs_first ? term / 2 : item, second = pairs_first ? item : term / 2;
      std::memcpy(to + first * kTileRowBytes + second * 4 + term % 2 * 2, &bits, sizeof bits);
    }
  }
}

/// Rows of a source as they lie in memory: of those that make up one row of tiles so many, each of
/// which is gone through in `steps` steps.
struct MemoryRows {
  const char* base = nullptr;  ///< of the first
  int64_t stride = 0, bytes = 0;
  int64_t count = 0, steps = 1;
};

/// Asks for the part of the rows that falls to a step, each row from its first line to its last: a
/// processor that sees lines of a page come one after the other goes on with it by itself, which
/// many rows at once would keep it from.
void fetch_rows(const MemoryRows& rows, int64_t step) {
  const int64_t end = rows.count * (step + 1) / rows.steps;
  for (int64_t row = rows.count * step / rows.steps; row < end; ++row) {
    const auto first = reinterpret_cast<uintptr_t>(rows.base) + uintptr_t(row * rows.stride);
    fetch(first, size_t(rows.bytes));
  }
}

/// An axis of a source: bytes to the next index, how many there are, how many a tile has.
struct TileAxis {
  int64_t stride = 0, count = 0, extent = 1;
  int64_t tiles() const { return (count + extent - 1) / extent; }
};

/// Calls `pack(tile, place)` for each tile, of whose parts it is the first, along memory.
template <typename Pack>
void for_each_tile(const TileSource& source, const TilePlace& to, const Pack& pack) {
  const auto tile = [&](int64_t i, int64_t t) {
    const int64_t item = i * kTileRows, term = t * kTileTerms;
    TilePart part{source.base + item * source.item_stride + term * source.term_stride,
                  source.item_stride,
                  source.term_stride,
                  int(std::min<int64_t>(kTileRows, source.items - item)),
                  int(std::min<int64_t>(kTileTerms, source.terms - term)),
                  source.dtype,
                  0,
                  to.parts};
    char* const place =
        to.base + i / 2 * to.pair_bytes + i % 2 * kTileBytes + t * to.term_tile_bytes;
    pack(part, place);
  };
  const int64_t size = size_of(source.dtype);
  // What is less may be near already.
  constexpr int64_t kFarBytes = 512 << 10;
  const bool far = source.items * source.terms * size > kFarBytes;
  const TileAxis items{source.item_stride, source.items, kTileRows};
  const TileAxis terms{source.term_stride, source.terms, kTileTerms};
  const bool by_terms = source.item_stride <= source.term_stride;
  const TileAxis &outer = by_terms ? terms : items, &inner = by_terms ? items : terms;
  for (int64_t o = 0; o < outer.tiles(); ++o) {
    const int64_t next = (o + 1) * outer.extent;
    const MemoryRows later{source.base + next * outer.stride, outer.stride, inner.count * size,
                           std::clamp<int64_t>(outer.count - next, 0, outer.extent), inner.tiles()};
    for (int64_t i = 0; i < inner.tiles(); ++i) {
      if (far) fetch_rows(later, i);
      by_terms ? tile(i, o) : tile(o, i);
    }
  }
}

/// 16 bits for so many of the first lanes.
__mmask16 first_lanes(int count) { return __mmask16((1u << std::clamp(count, 0, 16)) - 1); }

/// Sixteen numbers as the part of the tile has them: themselves where they have no parts, else what
/// rounds to that part.
GRAPHC_WIDE __m512 load_part(__mmask16 lanes, const char* from, const TilePart& tile) {
  __m512 x = _mm512_maskz_loadu_ps(lanes, from);
  if (tile.parts == 1) return x;
  const __m512i infinity = _mm512_set1_epi32(int(kInfinity));
  for (int part = 0;; ++part) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    const __mmask16 finite = _mm512_cmplt_epu32_mask(magnitude, infinity);
    // Numbers above the largest bf16 become it, and rests the largest one below 2^120.
    const __m512i limit = _mm512_set1_epi32(int(part == 0 ? kLargestBf16 : kLargestRest));
    const __m512i least = _mm512_min_epu32(magnitude, limit);
    const __m512i signs = _mm512_and_si512(bits, _mm512_set1_epi32(int(0x80000000)));
    const __m512 within = _mm512_castsi512_ps(_mm512_mask_or_epi32(bits, finite, least, signs));
    if (part == tile.part) return within;
    const __m512i nearest =
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(__m256i(_mm512_cvtneps_pbh(within))), 16);
    x = _mm512_maskz_sub_ps(finite, x, _mm512_castsi512_ps(nearest));
  }
}

/// The terms of an item in a tile, side by side, as bf16.
GRAPHC_WIDE __m512i load_terms(const char* from, const TilePart& part) {
  if (part.dtype == DType::bf16) {
    const __mmask32 lanes = __mmask32((uint64_t{1} << part.terms) - 1);
    return _mm512_maskz_loadu_epi16(lanes, from);
  }
  const __m512 first = load_part(first_lanes(part.terms), from, part);
  const __m512 second = load_part(first_lanes(part.terms - 16), from + 64, part);
  return __m512i(_mm512_cvtne2ps_pbh(second, first));
}

/// Where lane i of the first and lane i of the second 16 numbers become neighbours.
GRAPHC_WIDE __m512i interleaved() {
  return _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
                          6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
}

/// Sixteen items of a term and then as many of the next, as bf16; of those that are in the masks.
GRAPHC_WIDE __m512i load_two_terms(const char* from, __mmask16 first, __mmask16 second,
                                   const TilePart& part) {
  const char* const next = from + part.term_stride;
  if (part.dtype == DType::bf16) {
    const __m256i low = _mm256_maskz_loadu_epi16(first, from);
    const __m256i high = _mm256_maskz_loadu_epi16(second, next);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  const __m512 low = load_part(first, from, part);
  return __m512i(_mm512_cvtne2ps_pbh(load_part(second, next, part), low));
}

/// Rows of 16 pairs of terms, one of each item, whose terms lie side by side.
GRAPHC_WIDE void load_items(const TilePart& part, __m512i (&rows)[16]) {
  for (int item = 0; item < 16; ++item) {
    rows[item] = item < part.items ? load_terms(part.base + item * part.item_stride, part)
                                   : _mm512_setzero_si512();
  }
}

/// Rows of 16 items, one of each pair of terms, whose items lie side by side.
GRAPHC_WIDE void load_pairs(const TilePart& part, __m512i (&rows)[16]) {
  const __mmask16 lanes = first_lanes(part.items);
  for (int pair = 0; pair < 16; ++pair) {
    const char* from = part.base + 2 * pair * part.term_stride;
    const __mmask16 even = 2 * pair < part.terms ? lanes : __mmask16(0);
    const __mmask16 odd = 2 * pair + 1 < part.terms ? lanes : __mmask16(0);
    rows[pair] = _mm512_permutexvar_epi16(interleaved(), load_two_terms(from, even, odd, part));
  }
}

/// rows[i][j] becomes rows[j][i]: lanes of 32 bits within quarters first, then quarters.
GRAPHC_WIDE void transpose(__m512i (&rows)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    rows[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    rows[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

/// The rows of load_items() or load_pairs() of a tile that is full, of numbers without parts.
template <DType kDType, bool kLoadsItems>
GRAPHC_WIDE void load_full(const TilePart& part, __m512i (&rows)[16]) {
  const char* from = part.base;
  const int64_t stride = part.term_stride;
  for (int i = 0; i < 16; ++i) {
    if constexpr (kLoadsItems && kDType == DType::bf16) {
      rows[i] = _mm512_loadu_si512(from);
      from += part.item_stride;
    } else if constexpr (kLoadsItems) {
      rows[i] = __m512i(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 64), _mm512_loadu_ps(from)));
      from += part.item_stride;
    } else if constexpr (kDType == DType::bf16) {
      const __m512i low =
          _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
      rows[i] = _mm512_permutexvar_epi16(
          interleaved(),
          _mm512_inserti64x4(
              low, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + stride)), 1));
      from += 2 * stride;
    } else {
      rows[i] = _mm512_permutexvar_epi16(
          interleaved(),
          __m512i(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + stride), _mm512_loadu_ps(from))));
      from += 2 * stride;
    }
  }
}

GRAPHC_WIDE void load_part_of_tile(const TilePart& part, bool loads_items, __m512i (&rows)[16]) {
  const bool full = part.items == kTileRows && part.terms == kTileTerms && part.parts == 1;
  if (full && part.dtype == DType::bf16) {
    if (loads_items) return load_full<DType::bf16, true>(part, rows);
    return load_full<DType::bf16, false>(part, rows);
  }
  if (full) {
    if (loads_items) return load_full<DType::f32, true>(part, rows);
    return load_full<DType::f32, false>(part, rows);
  }
  if (loads_items) return load_items(part, rows);
  load_pairs(part, rows);
}

GRAPHC_WIDE __m512 widened(__m256i bf16) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16));
}

/// Two vectors of f32 as bf16, of which the numbers keep what is left.
GRAPHC_WIDE __m512i take_nearest(__m512& low, __m512& high) {
  const __m512i nearest = __m512i(_mm512_cvtne2ps_pbh(high, low));
  low = _mm512_sub_ps(low, widened(_mm512_castsi512_si256(nearest)));
  high = _mm512_sub_ps(high, widened(_mm512_extracti64x4_epi64(nearest, 1)));
  return nearest;
}

/// The rows of all parts of a full tile of f32 at once; false if one of its numbers is not finite
/// or rounds to infinity, which needs more care.
GRAPHC_WIDE bool load_parts(const TilePart& tile, bool loads_items, __m512i (&rows)[3][16]) {
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  __m512i largest = _mm512_setzero_si512();
  const int64_t next = loads_items ? 64 : tile.term_stride;
  const char* from = tile.base;
  for (int i = 0; i < 16; ++i, from += loads_items ? tile.item_stride : 2 * tile.term_stride) {
    __m512 low = _mm512_loadu_ps(from), high = _mm512_loadu_ps(from + next);
    largest = _mm512_max_epu32(largest, _mm512_and_si512(_mm512_castps_si512(low), magnitude));
    largest = _mm512_max_epu32(largest, _mm512_and_si512(_mm512_castps_si512(high), magnitude));
    for (int part = 0; part < tile.parts; ++part) {
      const __m512i nearest = take_nearest(low, high);
      rows[part][i] = loads_items ? nearest : _mm512_permutexvar_epi16(interleaved(), nearest);
    }
  }
  return _mm512_cmpgt_epu32_mask(largest, _mm512_set1_epi32(int(kLargestBf16))) == 0;
}

/// A tile that lies there in rows of items or pairs, stored as the order wants it.
GRAPHC_WIDE void store_tile(__m512i (&rows)[16], bool transposed, char* to) {
  if (transposed) transpose(rows);
  for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + i * kTileRowBytes, rows[i]);
}

GRAPHC_WIDE void pack_wide(TilePart tile, bool loads_items, TileOrder order, char* to,
                           int64_t part_bytes) {
  const bool transposed = loads_items != (order == TileOrder::items_first);
  const bool full = tile.items == kTileRows && tile.terms == kTileTerms;
  if (__m512i rows[3][16]; full && tile.parts > 1 && load_parts(tile, loads_items, rows)) {
    for (int part = 0; part < tile.parts; ++part)
      store_tile(rows[part], transposed, to + part * part_bytes);
    return;
  }
  for (; tile.part < tile.parts; ++tile.part) {
    __m512i rows[16];
    load_part_of_tile(tile, loads_items, rows);
    store_tile(rows, transposed, to + tile.part * part_bytes);
  }
}

bool has_wide() {
  static const bool has =
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bf16");
  return has;
}

}  // namespace

void pack_tiles_portably(const TileSource& source, TileOrder order, const TilePlace& to) {
  for_each_tile(source, to, [&](TilePart tile, char* place) {
    for (; tile.part < tile.parts; ++tile.part)
      pack_portably(tile, order, place + tile.part * to.part_bytes);
  });
}

void pack_tiles(const TileSource& source, TileOrder order, const TilePlace& to) {
  const int64_t size = size_of(source.dtype);
  const bool side_by_side = source.term_stride == size || source.item_stride == size;
  if (!has_wide() || !side_by_side) return pack_tiles_portably(source, order, to);
  const bool loads_items = source.term_stride == size;
  for_each_tile(source, to, [&](const TilePart& part, char* place) {
    pack_wide(part, loads_items, order, place, to.part_bytes);
  });
}

}  // namespace graphc::cpu
