// SPDX-License-Identifier: Apache-2.0
#include "codegen/walk/blocked_product.h"

#include <cstring>

#include "ir/mutant.h"

namespace graphc::core::cpu {
namespace {

/// Maximum size of one panel in the second-level cache.
constexpr int64_t kPanelBytes = 256 << 10;
/// Maximum number of terms that are summed before they are added to the sums of earlier pieces.
constexpr int64_t kMostTerms = 1024;
/// Rows that are packed together, [k][rows]: those of a tile, so that a cache line has no data of
/// another tile. As many groups are copied at a time as make whole lines of the source.
constexpr int64_t kGroupRows = 6, kGroupsTogether = 16;
/// Limits of a chunk of rows: the bytes of its sums between pieces, and its row count.
constexpr int64_t kSumBytes = 4 << 20;
constexpr int64_t kMostRows = 1024, kFewestRows = 240;

/// Whether neighbouring rows are contiguous and steps of k far apart. Then every step would be on
/// another page, and rows whose length is a power of two would map to a few lines of the cache.
bool lies_across(const NestProductArguments& product) {
  return product.a_row == sizeof(float) && product.a_k != sizeof(float) && product.k > 1;
}

}  // namespace

void BlockedProduct::run(NestFunction nest, const PanelSource& right, const NestArguments& whole) {
  NestArguments arguments = whole;
  const bool across = lies_across(whole.products[0]);
  const int64_t row_floats = right.parts * right.width;
  const int64_t most =
      std::clamp<int64_t>(kPanelBytes / int64_t(row_floats * sizeof(float)), 64, kMostTerms);
  const int64_t pieces = std::max<int64_t>(1, (right.k + most - 1) / most);
  const int64_t piece_k = (right.k + pieces - 1) / pieces;
  // The same number for all pieces, the shorter last one too, so that their sums are at the same
  // place.
  const int64_t together = panels_in_group(piece_k * row_floats * int64_t(sizeof(float)), whole);
  const int64_t blocks = (whole.column_end - whole.column_begin + right.width - 1) / right.width;
  int64_t chunk = std::max<int64_t>(1, whole.row_end - whole.row_begin);
  if (pieces > 1 || across) {
    const int64_t fitting = kSumBytes / int64_t(blocks * row_floats * sizeof(float));
    chunk = std::min(chunk, std::clamp(fitting, kFewestRows, kMostRows) / kGroupRows * kGroupRows);
  }
  if (pieces > 1) arguments.partial = sums_.get(chunk * blocks * row_floats);
  for (int64_t row = whole.row_begin; row < whole.row_end; row += chunk) {
    for (int64_t k = 0; k < std::max<int64_t>(right.k, 1); k += std::max<int64_t>(piece_k, 1)) {
      const Piece piece{k, std::min(piece_k, right.k - k), k + piece_k >= right.k, together};
      arguments.first = k == 0 || mutated(Mutant::earlier_pieces_of_sum_lost);
      arguments.last = piece.last;
      run_piece(nest, right, arguments, {row, std::min(row + chunk, whole.row_end)}, piece);
    }
  }
}

void BlockedProduct::run_piece(NestFunction nest, const PanelSource& right,
                               const NestArguments& whole, const Range& rows, const Piece& piece) {
  NestArguments arguments = whole;
  NestProductArguments product = whole.products[0];
  arguments.products = &product;
  const LeftRows left = left_rows(product, rows, piece);
  product.a_row = left.row;
  product.a_k = left.k;
  product.k = piece.k;
  product.block = piece.k * right.parts * right.width * int64_t(sizeof(float));
  char* const panels =
      reinterpret_cast<char*>(panels_.get(piece.together * product.block / int64_t(sizeof(float))));
  char* sums = static_cast<char*>(whole.partial);
  for (int64_t column = whole.column_begin; column < whole.column_end;
       column += piece.together * right.width) {
    arguments.column_begin = column;
    arguments.column_end = std::min(column + piece.together * right.width, whole.column_end);
    make_group(right, piece, {column, arguments.column_end}, panels);
    // The nest counts blocks, and rows, from the very first.
    product.panels = panels - column / right.width * product.block;
    const int64_t blocks = (arguments.column_end - column + right.width - 1) / right.width;
    arguments.partial_block = right.parts * right.width * int64_t(sizeof(float));
    arguments.partial_row = blocks * arguments.partial_block;
    for (int64_t row = rows.begin; row < rows.end; row += left.together) {
      arguments.row_begin = row;
      arguments.row_end = std::min(row + left.together, rows.end);
      product.a = left.base + (row - rows.begin) / left.together * left.group - row * left.row;
      arguments.partial = sums;
      nest(&arguments);
      if (sums != nullptr) sums += (arguments.row_end - row) * arguments.partial_row;
    }
  }
}

BlockedProduct::LeftRows BlockedProduct::left_rows(const NestProductArguments& left,
                                                   const Range& rows, const Piece& piece) {
  constexpr int64_t kFloat = sizeof(float);
  if (lies_across(left)) {
    const float* const groups = pack_left(left, rows, piece);
    return {reinterpret_cast<const char*>(groups), kFloat, kGroupRows * kFloat, kGroupRows,
            kGroupRows * piece.k * kFloat};
  }
  const char* const first = static_cast<const char*>(left.a) + piece.first * left.a_k;
  return {first + rows.begin * left.a_row, left.a_row, left.a_k, rows.end - rows.begin, 0};
}

void BlockedProduct::make_group(const PanelSource& right, const Piece& piece, const Range& columns,
                                char* panels) {
  PanelSource group = right;
  const int64_t begin = mutated(Mutant::first_panels_for_all_groups) ? 0 : columns.begin;
  group.base += begin * right.column_stride + piece.first * right.k_stride;
  group.k = piece.k;
  group.columns = std::min(columns.end, right.columns) - columns.begin;
  make_panels(group, reinterpret_cast<float*>(panels));
}

const float* BlockedProduct::pack_left(const NestProductArguments& left, const Range& rows,
                                       const Piece& piece) {
  const int64_t groups = (rows.end - rows.begin + kGroupRows - 1) / kGroupRows;
  float* to = left_.get(groups * kGroupRows * piece.k);
  const char* from =
      static_cast<const char*>(left.a) + rows.begin * left.a_row + piece.first * left.a_k;
  for (int64_t begin = 0; begin < groups; begin += kGroupsTogether) {
    const int64_t end = std::min(begin + kGroupsTogether, groups);
    for (int64_t k = 0; k < piece.k; ++k) {
      const char* const step = from + k * left.a_k;
      const auto later = reinterpret_cast<uintptr_t>(step) + uintptr_t(kRowsAhead * left.a_k);
      fetch(later + uintptr_t(begin * kGroupRows * left.a_row),
            size_t((end - begin) * kGroupRows * left.a_row));
      for (int64_t group = begin; group < end; ++group) {
        const int64_t row = group * kGroupRows, left_over = rows.end - rows.begin - row;
        float* const copy = to + row * piece.k + k * kGroupRows;
        const char* const source = step + row * left.a_row;
        if (left_over >= kGroupRows) {
          std::memcpy(copy, source, kGroupRows * sizeof(float));
        } else {
          std::memcpy(copy, source, size_t(left_over) * sizeof(float));
        }
      }
    }
  }
  return to;
}

}  // namespace graphc::core::cpu
