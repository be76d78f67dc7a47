// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/tiled_product.h"

#include <algorithm>
#include <cstring>

#include "codegen/cpu/tile_pack.h"
#include "ir/mutant.h"

namespace graphc::cpu {
namespace {

/// Of the second-level cache (2 MB where there are matrix tiles): panels that are made at a time,
/// and left tiles that a call of the nest reads again for each of them.
constexpr int64_t kPanelBytes = 768 << 10, kLeftBytes = 384 << 10;
/// The most terms that are summed before they join the sums of the pieces before.
constexpr int64_t kMostTerms = 512;
/// The left tiles, and the sums that wait, at a time; and the most rows whose sums wait.
constexpr int64_t kChunkBytes = 8 << 20, kMostRows = 1024;
/// The rows of a tile of a nest.
constexpr int64_t kRows = 2 * kTileRows;

/// Of the left tiles of a tile of rows, all parts of its numbers.
int64_t tile_row_bytes(int64_t k, int bf16_parts) {
  return term_tiles(k) * bf16_parts * kTileBytes;
}

int64_t panel_bytes(const PanelSource& right, int64_t k) {
  return tile_row_bytes(k, right.bf16_parts) * right.parts * (right.width / kTileColumns);
}

/// As many whole tiles of rows as fit, one at least.
int64_t rows_that_fit(int64_t bytes, int64_t bytes_per_tile) {
  return std::max<int64_t>(bytes / std::max<int64_t>(bytes_per_tile, 1) / 2, 1) * kRows;
}

}  // namespace

void make_tile_panel(const PanelSource& s, void* panel) {
  const int64_t tiles = s.width / kTileColumns, used = item_tiles(s.columns);
  const int64_t part_bytes = s.parts * tiles * kTileBytes;
  char* to = static_cast<char*>(panel);
  for (int part = 0; part < s.parts; ++part, to += tiles * kTileBytes) {
    pack_tiles(
        {s.base + part * s.part_stride, s.column_stride, s.k_stride, s.columns, s.k, s.dtype},
        TileOrder::pairs_first,
        {to, kTileBytes, s.bf16_parts * part_bytes, part_bytes, s.bf16_parts});
    for (int64_t term = 0; used < tiles && term < term_tiles(s.k) * s.bf16_parts; ++term) {
      std::memset(to + term * part_bytes + used * kTileBytes, 0,
                  size_t((tiles - used) * kTileBytes));
    }
  }
}

void TiledProduct::run(NestFunction nest, std::span<const TiledOperand> operands,
                       const NestArguments& whole) {
  products_.resize(operands.size());
  left_.resize(operands.size());
  right_.resize(operands.size());
  int64_t left_bytes = 0, widest = 0;
  for (const TiledOperand& operand : operands) {
    left_bytes += tile_row_bytes(operand.product.k, operand.right.bf16_parts);
    widest = std::max(widest, operand.product.k);
  }
  const bool in_pieces = operands.size() == 1 && !operands[0].in_panels && widest > kMostTerms;
  NestArguments chunk = whole;
  chunk.products = products_.data();
  int64_t rows = rows_that_fit(kChunkBytes, left_bytes);
  if (in_pieces) rows = std::min(rows, kMostRows);
  for (int64_t row = whole.row_begin; row < whole.row_end; row += rows) {
    chunk.row_begin = row;
    chunk.row_end = std::min(row + rows, whole.row_end);
    if (in_pieces) {
      run_pieces(nest, operands, chunk);
    } else {
      run_piece(nest, operands, chunk, nullptr);
    }
  }
}

void TiledProduct::run_pieces(NestFunction nest, std::span<const TiledOperand> operands,
                              const NestArguments& whole) {
  const PanelSource& right = operands[0].right;
  const int64_t k = operands[0].product.k;
  const int64_t pieces = (k + kMostTerms - 1) / kMostTerms;
  const int64_t piece_k = term_tiles((k + pieces - 1) / pieces) * kTileTerms;
  const int64_t rows = whole.row_end - whole.row_begin + kRows;
  const int64_t unit_bytes = right.parts * int64_t(sizeof(float));
  const int64_t span =
      std::max<int64_t>(kChunkBytes / (rows * unit_bytes * right.width), 1) * right.width;
  NestArguments chunk = whole;
  chunk.partial = sums_.get(rows * span * right.parts);
  chunk.partial_row = span * unit_bytes;
  for (int64_t column = whole.column_begin; column < whole.column_end; column += span) {
    chunk.column_begin = column;
    chunk.column_end = std::min(column + span, whole.column_end);
    for (int64_t first = 0; first < k; first += piece_k) {
      const Piece piece{first, std::min(piece_k, k - first)};
      chunk.first = first == 0 || mutated(Mutant::earlier_pieces_of_sum_lost);
      chunk.last = first + piece_k >= k;
      run_piece(nest, operands, chunk, &piece);
    }
  }
}

void TiledProduct::run_piece(NestFunction nest, std::span<const TiledOperand> operands,
                             const NestArguments& chunk, const Piece* piece) {
  const int64_t width = operands[0].right.width;
  pack_left(operands, {chunk.row_begin, chunk.row_end}, piece);
  int64_t left_bytes = 0, block_bytes = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    left_bytes += tile_row_bytes(products_[i].k, operands[i].right.bf16_parts);
    if (!operands[i].in_panels) block_bytes += panel_bytes(operands[i].right, products_[i].k);
  }
  const int64_t group = block_bytes == 0
                            ? std::max<int64_t>(chunk.column_end - chunk.column_begin, width)
                            : std::max<int64_t>(kPanelBytes / block_bytes, 1) * width;
  const int64_t rows = rows_that_fit(kLeftBytes, left_bytes);
  NestArguments arguments = chunk;
  for (int64_t column = chunk.column_begin; column < chunk.column_end; column += group) {
    arguments.column_begin = column;
    arguments.column_end = std::min(column + group, chunk.column_end);
    pack_right(operands, {column, arguments.column_end}, piece);
    const int64_t sums_before = (column - chunk.column_begin) * operands[0].right.parts;
    for (int64_t row = chunk.row_begin; row < chunk.row_end; row += rows) {
      arguments.row_begin = row;
      arguments.row_end = std::min(row + rows, chunk.row_end);
      if (chunk.partial != nullptr) {
        arguments.partial = static_cast<char*>(chunk.partial) +
                            (row - chunk.row_begin) * chunk.partial_row +
                            sums_before * int64_t(sizeof(float));
      }
      nest(&arguments);
    }
  }
}

void TiledProduct::pack_left(std::span<const TiledOperand> operands, const Range& rows,
                             const Piece* piece) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const NestProductArguments& from = operands[i].product;
    NestProductArguments& to = products_[i];
    to = from;
    if (piece != nullptr) to.k = piece->k;
    const int64_t first = piece == nullptr ? 0 : piece->first;
    const int parts = operands[i].right.bf16_parts;
    const int64_t tile_bytes = tile_row_bytes(to.k, parts);
    float* const tiles =
        left_[i].get((item_tiles(rows.end - rows.begin)) * tile_bytes / int64_t(sizeof(float)));
    pack_tiles({static_cast<const char*>(from.a) + rows.begin * from.a_row + first * from.a_k,
                from.a_row, from.a_k, rows.end - rows.begin, to.k, operands[i].left},
               TileOrder::items_first,
               {reinterpret_cast<char*>(tiles), tile_bytes, parts * kTileBytes, kTileBytes, parts});
    // The nest counts rows from the first of all.
    to.a_row = tile_bytes / kTileRows;
    to.a_k = 0;
    to.a = reinterpret_cast<const char*>(tiles) - rows.begin * to.a_row;
  }
}

void TiledProduct::pack_right(std::span<const TiledOperand> operands, const Range& columns,
                              const Piece* piece) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].in_panels) continue;
    const PanelSource& right = operands[i].right;
    NestProductArguments& to = products_[i];
    to.block = panel_bytes(right, to.k);
    const int64_t first = columns.begin / right.width,
                  end = (columns.end + right.width - 1) / right.width;
    char* panel =
        reinterpret_cast<char*>(right_[i].get((end - first) * to.block / int64_t(sizeof(float))));
    to.panels = panel - first * to.block;
    for (int64_t block = first; block < end; ++block, panel += to.block) {
      PanelSource source = right;
      source.base += block * right.width * right.column_stride +
                     (piece == nullptr ? 0 : piece->first) * right.k_stride;
      source.k = to.k;
      source.columns = std::min(right.width, right.columns - block * right.width);
      make_tile_panel(source, panel);
    }
  }
}

}  // namespace graphc::cpu
