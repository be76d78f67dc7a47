// SPDX-License-Identifier: Apache-2.0
// What the threads of a block do with two pieces of a product that lie in shared memory: who has
// which sums, and how they are multiplied. One way for each unit of a GPU that multiplies.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "codegen/cuda/text.h"
#include "codegen/nest/program.h"

namespace graphc::cuda {

/// How the tiles of a nest with products lie on a block of threads, `down` x `across` of them.
/// Small products have small tiles.
struct ProductTile {
  static constexpr int kThreads = 256;
  int down = 16, across = 16;
  int rows = 4, columns = 4;  ///< of a thread, if each has as many elements
  int terms = 16;             ///< of k that lie in shared memory at a time

  int block_rows() const { return down * rows; }
  int block_columns() const { return across * columns; }
};

/// Parts of a product that are summed at a time.
inline constexpr int kPartsAtOnce = 8;

/// Pieces of a product's operands in shared memory. Terms of the left one are left_stride()
/// elements apart, those of the right one right_stride(parts), with its parts side by side.
struct ProductPieces {
  int product = 0;
  std::string right;              ///< the variable of the right piece; the left one's is left_N
  int right_parts = 1;            ///< that lie there
  int first_part = 0, parts = 1;  ///< that are summed now
};

/// Writes the text of a way to multiply. A thread has `rows` x `columns` sums of every part, in
/// registers: `sums[at_part][at_row][at_column]`.
class ProductText {
 public:
  virtual ~ProductText() = default;

  int rows() const { return rows_; }
  int columns() const { return columns_; }

  /// What the other texts here refer to, declared once for the kernel.
  virtual void declare(TextWriter& text) const = 0;
  /// Which row and column of the tile `at_row` and `at_column` are, and the thread's first column.
  virtual std::string row() const = 0;
  virtual std::string column() const = 0;
  virtual std::string first_column() const = 0;
  /// What is true of threads that have sums; empty: all have.
  virtual std::string has_sums() const = 0;

  virtual int left_stride() const = 0;
  virtual int right_stride(int parts) const = 0;
  /// What a number of terms is rounded up to where an operand lies in shared memory as a whole,
  /// with zeros.
  virtual int term_group() const { return 1; }

  /// Adds the product of the first `there` terms of two pieces to the sums. Rows and columns of the
  /// tile that lie beyond these ends are not needed.
  virtual void multiply(TextWriter& text, const ProductPieces& pieces, std::string_view row_end,
                        std::string_view column_end) const = 0;

  /// How often a warp loads from shared memory for a term.
  virtual double loads_of_term(int parts) const = 0;

  /// Writes `write` for each of a thread's sums, unrolled so that they lie in registers.
  template <typename Write>
  void each_sum(TextWriter& text, int parts, const Write& write) const {
    const std::pair<const char*, int> axes[] = {
        {"at_part", parts}, {"at_row", rows_}, {"at_column", columns_}};
    for (const auto& [name, extent] : axes) {
      text.line("#pragma unroll");
      text.open("for (int {0} = 0; {0} < {1}; ++{0})", name, extent);
    }
    write();
    for (int i = 0; i < 3; ++i) text.close();
  }

 protected:
  ProductText(const NestProgram& program, const ProductTile& tile, int rows, int columns)
      : program_(program), tile_(tile), rows_(rows), columns_(columns) {}

  /// The part that `at_part` is where the first of those at hand is `part`.
  static std::string part_text(int part) {
    return part == 0 ? "at_part" : fmt::format("(at_part + {})", part);
  }

  const NestProgram& program_;
  const ProductTile tile_;
  const int rows_, columns_;
};

/// Whether tensor cores multiply. Otherwise fused multiplications and additions do, which round no
/// factor: where a product of the nest has its factors as they are stored, or the nest has more
/// than eight parts, whose sums would not fit registers.
bool on_tensor_cores(const NestProgram& program);

/// The smallest tile that tensor cores multiply.
inline constexpr int kMmaRows = 16, kMmaColumns = 8;

/// For the nests of a program with this tile.
std::unique_ptr<const ProductText> product_text(const NestProgram& program,
                                                const ProductTile& tile);

}  // namespace graphc::cuda
