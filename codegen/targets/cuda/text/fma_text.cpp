// SPDX-License-Identifier: Apache-2.0
// Products by fused multiply-adds.
#include "codegen/targets/cuda/text/product_text.h"

namespace graphc::core::cuda {
namespace {

/// Fused multiply-adds one after another, each with one rounding. The sums of a thread are spaced
/// so that neighbouring threads of the block access neighbours in memory.
class FmaText : public ProductText {
 public:
  FmaText(const NestProgram& program, const ProductTile& tile, const NestGrid& grid)
      : ProductText(program, tile, tile.rows, tile.columns),
        thread_x_(grid.thread('x')),
        thread_y_(grid.thread('y')) {}

  void declare(TextWriter&) const override {}
  std::string row() const override {
    return fmt::format("{} + at_row * {}", thread_y_, tile_.down);
  }
  std::string column() const override {
    return fmt::format("{} + at_column * {}", thread_x_, tile_.across);
  }
  std::string first_column() const override { return thread_x_; }
  std::string has_sums() const override { return {}; }

  /// Stored term by term, padded by one row, so that threads that write neighbouring terms of k
  /// have no bank conflicts.
  LeftLayout left_layout(std::string_view words) const override {
    return {"1", std::to_string(stride()), fmt::format("({} * {})", words, stride())};
  }
  int64_t left_elements(int64_t words) const override { return words * stride(); }
  int right_stride(int parts) const override { return parts * tile_.block_columns(); }

  void multiply(TextWriter& text, const ProductPieces& pieces, std::string_view row_end,
                std::string_view column_end) const override {
    const NestProduct& product = program_.products[size_t(pieces.product)];
    // Skips threads that have no element of the tile.
    text.open("if (first_row + {} < {} && first_column + {} < {})", thread_y_, row_end, thread_x_,
              column_end);
    text.open("for (int at_term = 0; at_term < there; ++at_term)");
    each_sum(text, pieces.parts, [&] {
      text.line(
          "sums[at_part][at_row][at_column] = {}({}[at_term * {} + {}], {}[(at_term * {} + "
          "{}) * {} + {}], sums[at_part][at_row][at_column]);",
          product.sum == DType::f64 ? "fma" : "fmaf", pieces.left, stride(), row(), pieces.right,
          pieces.right_parts, part_text(pieces.first_part), tile_.block_columns(), column());
    });
    text.close();
    text.close();
  }

  double loads_of_term(int product) const override {
    return rows_ + double(program_.products[size_t(product)].parts) * columns_;
  }

 private:
  int stride() const { return tile_.block_rows() + 1; }

  const std::string thread_x_, thread_y_;
};

}  // namespace

std::unique_ptr<const ProductText> fma_text(const NestProgram& program, const ProductTile& tile,
                                            const NestGrid& grid) {
  return std::make_unique<FmaText>(program, tile, grid);
}

}  // namespace graphc::core::cuda
