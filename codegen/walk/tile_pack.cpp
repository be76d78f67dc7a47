// SPDX-License-Identifier: Apache-2.0
#include "codegen/walk/tile_pack.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "codegen/walk/tile_lines.h"
#include "codegen/walk/tile_parts.h"
#include "codegen/walk/tile_vectors.h"

namespace graphc::core::cpu {
namespace {

/// One tile of a source: its extents in items and terms, which part of its numbers to take, and the
/// number of parts. Numbers that are bf16 have a single part.
struct TilePart {
  const char* base = nullptr;
  int64_t item_stride = 0, term_stride = 0;
  int items = 0, terms = 0;
  DType dtype = DType::f32;
  int part = 0, parts = 1;
};

/// The largest bf16 below 2^120: added to the largest bf16, 2^120 would give infinity.
constexpr uint32_t kLargestRest = 0x7b7f0000;

/// Rounds as VCVTNE2PS2BF16 does.
uint16_t rounded(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kInfinity) return uint16_t(bits >> 16 | 0x40);
  if (magnitude < 0x00800000) return uint16_t(bits >> 16 & 0x8000);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A part of a number that has several parts; see load_part().
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

/// The requested part of the number at `from`.
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

/// An axis of a source: bytes to the next index, its extent, and the extent of a tile.
struct TileAxis {
  int64_t stride = 0, count = 0, extent = 1;
  int64_t tiles() const { return (count + extent - 1) / extent; }
};

/// Fills tiles in memory order, one line of items or terms after the other. `pack_line(line)` packs
/// full tiles, which come first, and returns how many. `pack(tile, place, later)` packs any tile,
/// all parts from the given first one; `later` is the place of a tile that follows soon.
template <typename PackLine, typename Pack>
void for_each_tile(const TileSource& source, bool lines_of_items, const TilePlace& to,
                   const PackLine& pack_line, const Pack& pack) {
  const auto place = [&](int64_t i, int64_t t) {
    return to.base + i / 2 * to.pair_bytes + i % 2 * to.second_bytes + t * to.term_tile_bytes;
  };
  const auto tile = [&](int64_t i, int64_t t) {
    const int64_t item = i * kTileRows, term = t * kTileK;
    TilePart part{source.base + item * source.item_stride + term * source.term_stride,
                  source.item_stride,
                  source.term_stride,
                  int(std::min<int64_t>(kTileRows, source.items - item)),
                  int(std::min<int64_t>(kTileK, source.terms - term)),
                  source.dtype,
                  0,
                  to.parts};
    pack(part, place(i, t), lines_of_items ? place(i + 2, t) : place(i, t + 1));
  };
  const TileAxis items{source.item_stride, source.items, kTileRows};
  const TileAxis terms{source.term_stride, source.terms, kTileK};
  const TileAxis& outer = lines_of_items ? terms : items;
  const TileAxis& inner = lines_of_items ? items : terms;
  for (int64_t o = 0; o < outer.tiles(); ++o) {
    int64_t i = 0;
    if ((o + 1) * outer.extent <= outer.count) {
      i = pack_line(TileLine{source.base + o * outer.extent * outer.stride, outer.stride,
                             inner.count / inner.extent, lines_of_items ? place(0, o) : place(o, 0),
                             lines_of_items ? to.second_bytes : to.term_tile_bytes,
                             lines_of_items ? to.pair_bytes : 2 * to.term_tile_bytes});
    }
    for (; i < inner.tiles(); ++i) lines_of_items ? tile(i, o) : tile(o, i);
  }
}

/// A mask of the first `count` of 16 lanes.
__mmask16 first_lanes(int count) { return __mmask16((1u << std::clamp(count, 0, 16)) - 1); }

/// Sixteen numbers for the part of the tile: unchanged where they have one part, else values that
/// round to that part.
GRAPHC_WIDE __m512 load_part(__mmask16 lanes, const char* from, const TilePart& tile) {
  __m512 x = _mm512_maskz_loadu_ps(lanes, from);
  if (tile.parts == 1) return x;
  const __m512i infinity = _mm512_set1_epi32(int(kInfinity));
  for (int part = 0;; ++part) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    const __mmask16 finite = _mm512_cmplt_epu32_mask(magnitude, infinity);
    // Numbers above the largest bf16 become it, and remainders become the largest one below 2^120.
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

/// The terms of an item in a tile, contiguous, as bf16.
GRAPHC_WIDE __m512i load_terms(const char* from, const TilePart& part) {
  if (part.dtype == DType::bf16) {
    const __mmask32 lanes = __mmask32((uint64_t{1} << part.terms) - 1);
    return _mm512_maskz_loadu_epi16(lanes, from);
  }
  const __m512 first = load_part(first_lanes(part.terms), from, part);
  const __m512 second = load_part(first_lanes(part.terms - 16), from + 64, part);
  return __m512i(_mm512_cvtne2ps_pbh(second, first));
}

/// The masked items of a term and then those of the next term, sixteen each, as bf16.
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

/// Rows of 16 pairs of terms, one row per item; terms are contiguous.
GRAPHC_WIDE void load_items(const TilePart& part, __m512i (&rows)[16]) {
  for (int item = 0; item < 16; ++item) {
    rows[item] = item < part.items ? load_terms(part.base + item * part.item_stride, part)
                                   : _mm512_setzero_si512();
  }
}

/// Rows of 16 items, one row per pair of terms; items are contiguous.
GRAPHC_WIDE void load_pairs(const TilePart& part, __m512i (&rows)[16]) {
  const __mmask16 lanes = first_lanes(part.items);
  for (int pair = 0; pair < 16; ++pair) {
    const char* from = part.base + 2 * pair * part.term_stride;
    const __mmask16 even = 2 * pair < part.terms ? lanes : __mmask16(0);
    const __mmask16 odd = 2 * pair + 1 < part.terms ? lanes : __mmask16(0);
    rows[pair] = _mm512_permutexvar_epi16(interleaved(), load_two_terms(from, even, odd, part));
  }
}

/// The rows of all parts of a full f32 tile at once, whose terms or items are contiguous; false if
/// one of its numbers needs special treatment.
template <bool kTerms>
GRAPHC_WIDE bool load_parts(const TilePart& tile, __m512i (&rows)[3][16]) {
  __m512i largest = _mm512_setzero_si512();
  const char* from = tile.base;
  GRAPHC_ALL_ROWS
  for (int i = 0; i < 16; ++i, from += kTerms ? tile.item_stride : 2 * tile.term_stride) {
    __m512 first = _mm512_loadu_ps(from);
    __m512 second = _mm512_loadu_ps(from + (kTerms ? 64 : tile.term_stride));
    largest = larger(larger(largest, first), second);
    for (int part = 0; part < tile.parts; ++part) {
      rows[part][i] = kTerms ? part_of_terms(first, second) : part_of_pairs(first, second);
      kTerms ? take_part_of_terms(rows[part][i], first, second)
             : take_part_of_pairs(rows[part][i], first, second);
    }
  }
  return have_plain_parts(largest);
}

/// Stores a tile given as rows of items or pairs, transposed if the order requires it.
GRAPHC_WIDE void store_tile(__m512i (&rows)[16], bool transposed, char* to) {
  if (transposed) transpose(rows);
  GRAPHC_ALL_ROWS
  for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + i * kTileRowBytes, rows[i]);
}

/// Packs the tiles of all parts.
GRAPHC_WIDE void pack_wide(TilePart tile, bool terms_adjoin, TileOrder order, char* to,
                           int64_t part_bytes) {
  const bool transposed = terms_adjoin != (order == TileOrder::items_first);
  const bool full = tile.items == kTileRows && tile.terms == kTileK;
  __m512i rows[3][16];
  if (full && tile.parts > 1 &&
      (terms_adjoin ? load_parts<true>(tile, rows) : load_parts<false>(tile, rows))) {
    for (int part = 0; part < tile.parts; ++part)
      store_tile(rows[part], transposed, to + part * part_bytes);
    return;
  }
  for (; tile.part < tile.parts; ++tile.part) {
    terms_adjoin ? load_items(tile, rows[0]) : load_pairs(tile, rows[0]);
    store_tile(rows[0], transposed, to + tile.part * part_bytes);
  }
}

/// Prefetches for writing the lines of the tiles of all parts. With many parts more is written than
/// read, and a write to a distant line costs as much as a read of it.
void fetch_to_write(const char* tiles, const TilePlace& place) {
  for (int part = 0; part < place.parts; ++part) {
    for (int line = 0; line < kTileBytes; line += kTileRowBytes)
      __builtin_prefetch(tiles + part * place.part_bytes + line, 1, 2);
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
  const auto no_line = [](const TileLine&) { return int64_t{0}; };
  const bool lines_of_items = source.item_stride < source.term_stride;
  for_each_tile(source, lines_of_items, to, no_line, [&](TilePart tile, char* place, char*) {
    for (; tile.part < tile.parts; ++tile.part)
      pack_portably(tile, order, place + tile.part * to.part_bytes);
  });
}

void pack_tiles(const TileSource& source, TileOrder order, const TilePlace& to) {
  const int64_t size = size_of(source.dtype);
  const bool terms_adjoin = source.term_stride == size, items_adjoin = source.item_stride == size;
  if (!has_wide() || (!terms_adjoin && !items_adjoin)) {
    return pack_tiles_portably(source, order, to);
  }
  const auto line = [&](const TileLine& tiles) {
    if (to.parts > 1) {
      const bool packed = items_adjoin && order == TileOrder::pairs_first &&
                          pack_line_in_parts(tiles, to.parts, to.part_bytes);
      return packed ? tiles.tiles : 0;
    }
    terms_adjoin ? pack_line_of_terms(tiles, source.dtype, order)
                 : pack_line_of_items(tiles, source.dtype, order);
    return tiles.tiles;
  };
  for_each_tile(source, !terms_adjoin, to, line,
                [&](const TilePart& part, char* place, char* later) {
                  if (to.parts > 1) fetch_to_write(later, to);
                  pack_wide(part, terms_adjoin, order, place, to.part_bytes);
                });
}

}  // namespace graphc::core::cpu
