// SPDX-License-Identifier: Apache-2.0
#include "codegen/walk/tiled_product.h"

#include <algorithm>
#include <cstring>

#include "codegen/walk/tile_pack.h"
#include "ir/error.h"
#include "ir/mutant.h"
#include "runtime/caches.h"

namespace graphc::core::cpu {
namespace {

/// Shares of a core's second-level cache. Measurement found the best values on a cache of 2 MB
/// (docs/lab/2026-11-amx.md).
struct Shares {
  int64_t all_panels;  ///< panels are packed once if all of them fit
  int64_t panels;      ///< else, of the panels packed or used at a time
  int64_t left;        ///< of tiles that a call of the nest rereads for each panel
  int64_t sums;        ///< of sums kept for the next piece
};

Shares shares() {
  const int64_t cache = second_level_cache();
  return {cache / 2, cache / 4, cache * 3 / 8, cache / 2};
}

/// For factors of one, two and three parts: the maximum number of terms that are not split into
/// pieces, so that several panels of them fit in the cache; and the maximum of a piece, so that its
/// left tiles, panels and sums fit. Equal on every machine, because sums of parts depend on the
/// pieces.
constexpr int64_t kWholeTerms[] = {1024, 512, 512}, kPieceTerms[] = {512, 256, 128};
/// Limits of a chunk of rows: the bytes of its left tiles with all terms (panels are packed again
/// for each chunk), and the number of rows whose sums are kept between pieces.
constexpr int64_t kChunkBytes = 16 << 20, kMostTiledRows = 1024;
/// The rows of a nest's tile.
constexpr int64_t kRows = 2 * kTileRows;

/// Bytes of the left tiles of one row tile, with all parts of its numbers.
int64_t tile_row_bytes(int64_t k, int bf16_parts) {
  return term_tiles(k) * bf16_parts * kTileBytes;
}

int64_t panel_bytes(const PanelSource& right, int64_t k) {
  return tile_row_bytes(k, right.bf16_parts) * right.parts * (right.width / kTileColumns);
}

char* room(Scratch& scratch, int64_t bytes) {
  return reinterpret_cast<char*>(scratch.get(bytes / int64_t(sizeof(float))));
}

/// Bytes of the left tiles of rows, which come in pairs.
int64_t left_tile_bytes(const Range& rows, int64_t k, int bf16_parts) {
  return (rows.end - rows.begin + kRows - 1) / kRows * 2 * tile_row_bytes(k, bf16_parts);
}

/// As many whole tiles of rows as fit, at least one.
int64_t rows_that_fit(int64_t bytes, int64_t bytes_per_tile) {
  return std::max<int64_t>(bytes / std::max<int64_t>(bytes_per_tile, 1) / 2, 1) * kRows;
}

}  // namespace

void make_tile_panels(const PanelSource& all, const Range& blocks, void* panels) {
  const int64_t terms = term_tiles(all.k), tiles = all.parts * all.width / kTileColumns;
  const int64_t block_bytes = panel_bytes(all, all.k);
  const int64_t columns = std::min(blocks.end * all.width, all.columns) - blocks.begin * all.width;
  const bool two_of_part = tiles > all.parts;
  GRAPHC_CHECK(tiles == (two_of_part ? 2 : all.parts), "a block of {} tiles of {} parts", tiles,
               all.parts);
  // Packs one part of all blocks at a time, which reads along memory. A block has one tile of a
  // part, or two if it has only one part.
  for (int part = 0; part < all.parts; ++part) {
    // Two tiles are adjacent; the last one may be alone.
    const int64_t together = std::min<int64_t>(2, tiles - part / 2 * 2) * kTileBytes;
    char* const to = static_cast<char*>(panels) +
                     part / 2 * terms * all.bf16_parts * 2 * kTileBytes + part % 2 * kTileBytes;
    const TilePlace place{to,
                          two_of_part ? block_bytes : 2 * block_bytes,
                          all.bf16_parts * together,
                          together,
                          all.bf16_parts,
                          two_of_part ? kTileBytes : block_bytes};
    pack_tiles({all.base + part * all.part_stride, all.column_stride, all.k_stride, columns, all.k,
                all.dtype},
               TileOrder::pairs_first, place);
    if (!two_of_part || item_tiles(columns) % 2 == 0) continue;
    char* const absent = to + item_tiles(columns) / 2 * place.pair_bytes + place.second_bytes;
    for (int64_t tile = 0; tile < terms * all.bf16_parts; ++tile)
      std::memset(absent + tile * together, 0, kTileBytes);
  }
}

void TiledProduct::run(NestFunction nest, std::span<const TiledOperand> operands,
                       const NestArguments& whole) {
  products_.resize(operands.size());
  left_.resize(operands.size());
  right_.resize(operands.size());
  NestArguments arguments = whole;
  arguments.products = products_.data();
  const bool in_pieces = operands.size() == 1 && !operands[0].in_panels &&
                         operands[0].product.k > kWholeTerms[operands[0].right.bf16_parts - 1];
  if (in_pieces) return run_pieces(nest, operands[0], arguments);
  run_whole(nest, operands, arguments);
}

void TiledProduct::run_whole(NestFunction nest, std::span<const TiledOperand> operands,
                             NestArguments whole) {
  const Range columns{whole.column_begin, whole.column_end};
  const int64_t width = operands[0].right.width;
  int64_t left_bytes = 0, block_bytes = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    products_[i] = operands[i].product;
    left_bytes += tile_row_bytes(products_[i].k, operands[i].right.bf16_parts);
    if (!operands[i].in_panels) block_bytes += panel_bytes(operands[i].right, products_[i].k);
  }
  const auto make_panels = [&](const Range& some) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].in_panels) make_right(operands[i], i, some, {0, products_[i].k});
    }
  };
  int64_t group = std::max<int64_t>(columns.end - columns.begin, width);
  const Shares cache = shares();
  const int64_t rows_at_once = rows_that_fit(cache.left, left_bytes);
  int64_t rows = rows_at_once;
  const int64_t all_panels = (group + width - 1) / width * block_bytes;
  if (all_panels > cache.all_panels) {
    // Panels are packed again for each chunk of rows.
    group = std::max<int64_t>(cache.panels / block_bytes, 1) * width;
    rows = rows_that_fit(kChunkBytes, left_bytes);
  } else if (all_panels > 0) {
    make_panels(columns);
  } else {
    group = std::max<int64_t>(cache.panels / std::max<int64_t>(products_[0].block, 1), 1) * width;
  }
  for (int64_t row = whole.row_begin, end = whole.row_end; row < end; row += rows) {
    const Range chunk{row, std::min(row + rows, end)};
    for (size_t i = 0; i < operands.size(); ++i) {
      const Piece piece{0, products_[i].k};
      const int64_t bytes = left_tile_bytes(chunk, piece.k, operands[i].right.bf16_parts);
      set_left(operands[i], i, chunk, piece, {room(left_[i], bytes), true});
    }
    const int64_t groups = (columns.end - columns.begin + group - 1) / group;
    for (int64_t i = 0; i < groups; ++i) {
      whole.column_begin = columns.begin + (backwards_ ? groups - 1 - i : i) * group;
      whole.column_end = std::min(whole.column_begin + group, columns.end);
      if (all_panels > cache.all_panels) make_panels({whole.column_begin, whole.column_end});
      for (int64_t first = chunk.begin; first < chunk.end; first += rows_at_once) {
        whole.row_begin = first;
        whole.row_end = std::min(first + rows_at_once, chunk.end);
        nest(&whole);
      }
    }
    // Alternate the direction: the panels that were read last are still in the cache.
    if (groups > 1) backwards_ = !backwards_;
  }
}

void TiledProduct::run_pieces(NestFunction nest, const TiledOperand& operand, NestArguments whole) {
  const Range all{whole.row_begin, whole.row_end}, columns{whole.column_begin, whole.column_end};
  const int64_t k = operand.product.k, width = operand.right.width;
  const int bf16_parts = operand.right.bf16_parts;
  const int64_t most = kPieceTerms[bf16_parts - 1], pieces = (k + most - 1) / most;
  const int64_t piece_k = term_tiles((k + pieces - 1) / pieces) * kTileK;
  const int64_t rows =
      std::min(rows_that_fit(kChunkBytes, tile_row_bytes(k, bf16_parts)), kMostTiledRows);
  products_[0] = operand.product;
  whole.partial_row = operand.right.parts * width * int64_t(sizeof(float));
  for (int64_t row = all.begin; row < all.end; row += rows) {
    whole.row_begin = row;
    whole.row_end = std::min(row + rows, all.end);
    const int64_t padded = (whole.row_end - row + kRows - 1) / kRows * kRows;
    whole.partial_block = padded * whole.partial_row;
    // Spans have equal sizes: a short last one would also reread all left tiles.
    const int64_t all_blocks = (columns.end - columns.begin + width - 1) / width;
    const int64_t most_blocks = std::max<int64_t>(shares().sums / whole.partial_block, 1);
    const int64_t spans = std::max<int64_t>((all_blocks + most_blocks - 1) / most_blocks, 1);
    const int64_t blocks = std::max<int64_t>((all_blocks + spans - 1) / spans, 1);
    whole.partial = room(sums_, blocks * whole.partial_block);
    const bool keep = columns.begin + blocks * width < columns.end;
    const int64_t kept_k = (keep ? pieces : 1) * piece_k;
    char* const left = room(left_[0], left_tile_bytes({row, whole.row_end}, kept_k, bf16_parts));
    for (int64_t column = columns.begin; column < columns.end; column += blocks * width) {
      whole.column_begin = column;
      whole.column_end = std::min(column + blocks * width, columns.end);
      run_span(nest, operand, whole, piece_k, {left, column == columns.begin, keep});
    }
  }
}

void TiledProduct::run_span(NestFunction nest, const TiledOperand& operand, NestArguments span,
                            int64_t piece_k, LeftTiles left) {
  const Range rows{span.row_begin, span.row_end};
  const int64_t k = operand.product.k;
  for (int64_t first = 0; first < k; first += piece_k) {
    const Piece piece{first, std::min(piece_k, k - first)};
    set_left(operand, 0, rows, piece, left);
    if (left.keep) left.at += left_tile_bytes(rows, piece.k, operand.right.bf16_parts);
    make_right(operand, 0, {span.column_begin, span.column_end}, piece);
    span.first = first == 0 || mutated(Mutant::earlier_pieces_of_sum_lost);
    span.last = first + piece_k >= k;
    nest(&span);
  }
}

void TiledProduct::set_left(const TiledOperand& operand, size_t number, const Range& rows,
                            const Piece& piece, LeftTiles left) {
  const NestProductArguments& from = operand.product;
  NestProductArguments& to = products_[number];
  const int parts = operand.right.bf16_parts;
  const int64_t pair_bytes = 2 * tile_row_bytes(piece.k, parts), together = 2 * kTileBytes;
  if (left.make) {
    pack_tiles({static_cast<const char*>(from.a) + rows.begin * from.a_row + piece.first * from.a_k,
                from.a_row, from.a_k, rows.end - rows.begin, piece.k, operand.left},
               TileOrder::items_first, {left.at, pair_bytes, parts * together, together, parts});
  }
  // The nest counts rows from the very first.
  to.k = piece.k;
  to.a_row = pair_bytes / kRows;
  to.a_k = 0;
  to.a = left.at - rows.begin * to.a_row;
}

void TiledProduct::make_right(const TiledOperand& operand, size_t number, const Range& columns,
                              const Piece& piece) {
  const PanelSource& right = operand.right;
  NestProductArguments& to = products_[number];
  to.block = panel_bytes(right, piece.k);
  const Range blocks{columns.begin / right.width, (columns.end + right.width - 1) / right.width};
  char* const panels = room(right_[number], (blocks.end - blocks.begin) * to.block);
  PanelSource source = right;
  source.base += blocks.begin * right.width * right.column_stride + piece.first * right.k_stride;
  source.k = piece.k;
  make_tile_panels(source, blocks, panels);
  // The nest counts blocks from the very first, too.
  to.panels = panels - blocks.begin * to.block;
}

}  // namespace graphc::core::cpu
