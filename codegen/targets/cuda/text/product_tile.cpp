// SPDX-License-Identifier: Apache-2.0
// The sizes of the tiles of products, and the shared memory that they take.
#include <algorithm>

#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/pipelined_form.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

/// Maximum sums of a thread in registers.
constexpr int kSums = 64;
/// Limit of shared memory for the two operands' pieces.
constexpr int64_t kSharedOfTiles = 40 << 10;

/// Terms of a piece where there is room for many, and where there is not. The values that a thread
/// reads ahead and its sums have this many registers where two blocks share a multiprocessor.
constexpr int kMostTerms = 64, kFewTerms = 16;
constexpr int kMostRegisters = 64;

/// Bytes of shared memory for the pieces of a product's operands.
int64_t bytes_of_piece(const NestProgram& program, const ProductTile& tile, const ProductText& text,
                       size_t p, bool left, bool right) {
  const NestProduct& product = program.products[p];
  const int words = text.words(int(p), tile.k);
  const int64_t right_words =
      int64_t{words} * text.right_stride(std::min(product.parts, kPartsAtOnce));
  return ((left ? text.left_elements(words) : 0) + (right ? right_words : 0) +
          text.handed_elements(int(p))) *
         size_of(product.sum);
}

/// The same for all products.
int64_t bytes_of_pieces(const NestProgram& program, const ProductTile& tile) {
  const auto text = product_text(program, tile);
  int64_t bytes = 0;
  for (size_t p = 0; p < program.products.size(); ++p)
    bytes += bytes_of_piece(program, tile, *text, p, true, true);
  return bytes;
}

/// Sums of a thread of `tile`: those of a piece and those of all pieces.
int sums_of(const NestProgram& program, const ProductTile& tile) {
  const int parts = parts_of(program);
  const auto text = product_text(program, tile);
  return (parts + std::min(parts, kPartsAtOnce)) * text->rows() * text->columns();
}

/// Whether they fit in registers.
bool fits(const NestProgram& program, const ProductTile& tile) {
  return sums_of(program, tile) <= kSums;
}

/// Registers of a thread for the numbers that it loads for a piece, of the product that takes most.
/// If its column changes with each turn, addresses are included.
int registers_ahead(const NestProgram& program, const ProductTile& tile) {
  int most = 0;
  for (const NestProduct& product : program.products) {
    const int columns = std::min(product.parts, kPartsAtOnce) * tile.block_columns();
    const int of_number = ProductTile::kThreads % columns == 0 ? 1 : 16;
    most = std::max(most, (tile.block_rows() + of_number * columns) * tile.k);
  }
  return most / ProductTile::kThreads;
}

/// A tile of 16 x 16 threads for a nest whose tiles any block may compute. With many terms the
/// threads synchronise less often.
ProductTile shared_out_tile(const NestProgram& program, const NestForm& form) {
  ProductTile tile;
  tile.rows = form.tile_rows / tile.down;
  tile.columns = form.tile_columns / tile.across;
  // With fewer than 32 x 32 elements, tensor cores leave some warps without sums.
  const int least = on_tensor_cores(program) ? 4 : 1;
  while (!fits(program, tile) && tile.columns * tile.rows > least) {
    (tile.columns >= tile.rows ? tile.columns : tile.rows) /= 2;
  }
  const int least_terms = product_text(program, tile)->least_terms();
  tile.k = form.staged_k;
  if (tile.k == 0) {
    tile.k = kMostTerms;
    while (tile.k > kFewTerms &&
           (registers_ahead(program, tile) + sums_of(program, tile) > kMostRegisters ||
            bytes_of_pieces(program, tile) > kSharedOfTiles / 2))
      tile.k /= 2;
  }
  while (tile.k > least_terms && bytes_of_pieces(program, tile) > kSharedOfTiles) tile.k /= 2;
  GRAPHC_CHECK(bytes_of_pieces(program, tile) <= kSharedOfTiles,
               "products that need {} bytes a term", bytes_of_pieces(program, tile));
  return tile;
}

/// A tile of the given rows and columns, in which each thread reads about as many left as right
/// operands.
ProductTile owned_tile(const NestProgram& program, const NestForm& form) {
  ProductTile tile;
  const int of_a_thread = std::max(form.tile_rows * form.tile_columns / ProductTile::kThreads, 1);
  tile.rows = std::min(of_a_thread, form.tile_rows);
  tile.columns = of_a_thread / tile.rows;
  while (tile.rows > 2 * parts_of(program) * tile.columns && tile.columns < form.tile_columns) {
    tile.rows /= 2;
    tile.columns *= 2;
  }
  tile.across = form.tile_columns / tile.columns;
  tile.down = ProductTile::kThreads / tile.across;
  tile.k = form.staged_k;
  return tile;
}

}  // namespace

ProductTile product_tile(const NestProgram& program, const NestForm& form) {
  if (form.pipelined) {
    ProductTile tile;
    tile.rows = form.tile_rows / tile.down;
    tile.columns = form.tile_columns / tile.across;
    tile.k = PipelineLayout(program, form).terms();
    return tile;
  }
  return form.owned ? owned_tile(program, form) : shared_out_tile(program, form);
}

bool fits_registers(const NestProgram& program, const NestForm& form) {
  return fits(program, product_tile(program, form));
}

int sums_of_thread(const NestProgram& program, const NestForm& form) {
  return sums_of(program, product_tile(program, form));
}

int64_t internal::tile_shared_bytes(const NestProgram& program, const NestForm& form) {
  const ProductTile tile = product_tile(program, form);
  if (!form.owned) return bytes_of_pieces(program, tile);
  const auto text = product_text(program, tile);
  // The products use the same shared memory, one after another.
  int64_t most = 0;
  for (size_t p = 0; p < program.products.size(); ++p)
    most = std::max(most,
                    bytes_of_piece(program, tile, *text, p, !form.exchanged[p], !form.resident[p]));
  return most;
}

int64_t internal::resident_elements(const NestProgram& program, const NestForm& form,
                                    size_t product, int64_t columns, int64_t k) {
  const ProductTile tile = product_tile(program, form);
  const auto text = product_text(program, tile);
  const auto groups = [](int64_t count, int64_t of) { return (count + of - 1) / of; };
  return groups(columns, tile.block_columns()) * groups(k, text->term_group()) *
         text->words(int(product), text->term_group()) *
         text->right_stride(program.products[product].parts);
}

int64_t internal::exchanged_elements(const NestProgram& program, const NestForm& form, int64_t rows,
                                     int64_t k) {
  const ProductTile tile = product_tile(program, form);
  const auto text = product_text(program, tile);
  const auto rounded = [](int64_t count, int64_t to) { return (count + to - 1) / to * to; };
  return rounded(rows, tile.block_rows()) / tile.block_rows() *
         text->left_elements(rounded(k, text->term_group()));
}

}  // namespace graphc::core::cuda
