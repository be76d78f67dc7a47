// SPDX-License-Identifier: Apache-2.0
#include "codegen/walk/tile_lines.h"

#include "codegen/walk/tile_parts.h"
#include "codegen/walk/tile_vectors.h"

namespace graphc::core::cpu {
namespace {

enum class SideBySide : uint8_t { items, terms };

/// Sixteen items of a term and of the next term, one stride behind it, or 32 terms of an item.
template <DType kDType, SideBySide kWhat>
GRAPHC_WIDE __m512i load_row(const char* from, int64_t stride) {
  if constexpr (kDType == DType::bf16 && kWhat == SideBySide::terms) {
    return _mm512_loadu_si512(from);
  } else if constexpr (kWhat == SideBySide::terms) {
    return __m512i(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 64), _mm512_loadu_ps(from)));
  } else if constexpr (kDType == DType::bf16) {
    const __m256i even = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i odd = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + stride));
    const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(even), odd, 1);
    return _mm512_permutexvar_epi16(interleaved(), both);
  } else {
    return _mm512_permutexvar_epi16(
        interleaved(),
        __m512i(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + stride), _mm512_loadu_ps(from))));
  }
}

template <DType kDType, SideBySide kWhat, bool kTransposed>
GRAPHC_WIDE void pack_tile(const char* from, int64_t stride, char* to) {
  __m512i rows[16];
  GRAPHC_ALL_ROWS
  for (int i = 0; i < 16; ++i) {
    rows[i] = load_row<kDType, kWhat>(from, stride);
    from += kWhat == SideBySide::items ? 2 * stride : stride;
  }
  if constexpr (kTransposed) transpose(rows);
  GRAPHC_ALL_ROWS
  for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + i * kTileRowBytes, rows[i]);
}

/// Two tiles of bf16 whose order matches that of their items in memory; loads whole cache lines.
GRAPHC_WIDE void pack_two_tiles(const char* from, int64_t stride, char* first, char* second) {
  for (int row = 0; row < kTileBytes; row += kTileRowBytes, from += 2 * stride) {
    const __m512i even = _mm512_loadu_si512(from), odd = _mm512_loadu_si512(from + stride);
    const __m512i low = _mm512_inserti64x4(even, _mm512_castsi512_si256(odd), 1);
    const __m512i high = _mm512_shuffle_i64x2(even, odd, 0xee);
    _mm512_storeu_si512(first + row, _mm512_permutexvar_epi16(interleaved(), low));
    _mm512_storeu_si512(second + row, _mm512_permutexvar_epi16(interleaved(), high));
  }
}

template <DType kDType, SideBySide kWhat, bool kTransposed>
GRAPHC_WIDE void pack_line(const TileLine& line) {
  constexpr bool kItems = kWhat == SideBySide::items;
  constexpr int64_t kAcross = (kItems ? kTileRows : kTileK) * (kDType == DType::bf16 ? 2 : 4);
  const char* from = line.from;
  char* to = line.to;
  int64_t tiles = line.tiles;
  for (; tiles > 1; tiles -= 2, from += 2 * kAcross, to += line.pair_bytes) {
    if constexpr (kItems && kDType == DType::bf16 && !kTransposed) {
      pack_two_tiles(from, line.stride, to, to + line.second_bytes);
    } else {
      pack_tile<kDType, kWhat, kTransposed>(from, line.stride, to);
      pack_tile<kDType, kWhat, kTransposed>(from + kAcross, line.stride, to + line.second_bytes);
    }
  }
  if (tiles > 0) pack_tile<kDType, kWhat, kTransposed>(from, line.stride, to);
}

template <SideBySide kWhat, bool kTransposed>
GRAPHC_WIDE void pack_line_of(const TileLine& line, DType dtype) {
  if (dtype == DType::bf16) return pack_line<DType::bf16, kWhat, kTransposed>(line);
  pack_line<DType::f32, kWhat, kTransposed>(line);
}

/// Packs two terms of all items at a time: rows are in memory order, and no tile is transposed.
template <int kParts>
GRAPHC_WIDE bool pack_pairs_in_parts(const TileLine& line, int64_t part_bytes) {
  __m512i largest = _mm512_setzero_si512();
  for (int pair = 0; pair < kTileK / 2; ++pair) {
    const char* from = line.from + 2 * pair * line.stride;
    char* pair_of_tiles = line.to + pair * kTileRowBytes;
    for (int64_t tile = 0; tile < line.tiles; ++tile, from += 64) {
      char* const to = pair_of_tiles + (tile % 2 == 0 ? 0 : line.second_bytes);
      if (tile % 2 == 1) pair_of_tiles += line.pair_bytes;
      __m512 even = _mm512_loadu_ps(from), odd = _mm512_loadu_ps(from + line.stride);
      // Most likely the next term tile of the same items.
      __builtin_prefetch(from + kTileK * line.stride, 0, 2);
      __builtin_prefetch(from + (kTileK + 1) * line.stride, 0, 2);
      largest = larger(larger(largest, even), odd);
      for (int part = 0; part < kParts; ++part) {
        const __m512i pairs = part_of_pairs(even, odd);
        _mm512_storeu_si512(to + part * part_bytes, pairs);
        take_part_of_pairs(pairs, even, odd);
      }
    }
  }
  return have_plain_parts(largest);
}

}  // namespace

void pack_line_of_items(const TileLine& line, DType dtype, TileOrder order) {
  if (order == TileOrder::items_first) return pack_line_of<SideBySide::items, true>(line, dtype);
  pack_line_of<SideBySide::items, false>(line, dtype);
}

void pack_line_of_terms(const TileLine& line, DType dtype, TileOrder order) {
  if (order == TileOrder::pairs_first) return pack_line_of<SideBySide::terms, true>(line, dtype);
  pack_line_of<SideBySide::terms, false>(line, dtype);
}

bool pack_line_in_parts(const TileLine& line, int parts, int64_t part_bytes) {
  return parts == 2 ? pack_pairs_in_parts<2>(line, part_bytes)
                    : pack_pairs_in_parts<3>(line, part_bytes);
}

}  // namespace graphc::core::cpu
