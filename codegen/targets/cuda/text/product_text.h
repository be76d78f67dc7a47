// SPDX-License-Identifier: Apache-2.0
// How the threads of a block multiply two pieces of a product in shared memory: which thread has
// which sums, and how they are computed. There is one implementation for each kind of arithmetic
// unit of a GPU.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "codegen/nest/program.h"
#include "codegen/targets/cuda/text/mma_layout.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// How the tiles of a nest with products map to a block of threads, `down` x `across` of them.
/// Small products have small tiles.
struct ProductTile {
  static constexpr int kThreads = 256;
  int down = 16, across = 16;
  int rows = 4, columns = 4;  ///< per thread, if each has the same number of elements
  int k = 16;                 ///< terms in shared memory at a time

  int block_rows() const { return down * rows; }
  int block_columns() const { return across * columns; }
};

/// Parts of a product that are summed at a time.
inline constexpr int kPartsAtOnce = 8;
/// The number of parts of all products of a nest.
inline int parts_of(const NestProgram& program) {
  int parts = 0;
  for (const NestProduct& product : program.products) parts += product.parts;
  return parts;
}

/// Number of terms of one variable: the sums of so many terms are added to the next variable, as on
/// the CPU, so that long sums are as exact as short ones.
inline constexpr int kPiece = 256;

/// Pieces of a product's operands in shared memory. The left one has the layout of left_layout();
/// words of the right one are right_stride(parts) elements apart, with its parts adjacent.
struct ProductPieces {
  int product = 0;
  std::string left;               ///< the variable of the left piece
  std::string left_words;         ///< words of a row of it
  bool left_is_ready = true;      ///< whether it is ready to be multiplied; else as in memory
  std::string right;              ///< the variable of the right piece
  int right_parts = 1;            ///< parts in it
  int first_part = 0, parts = 1;  ///< parts summed now
};

/// Strides, as text, of the elements of a tile's rows of a left operand in shared memory.
struct LeftLayout {
  std::string row, word;
  std::string tile;  ///< from one tile of rows to the next
};

/// Which sums of a tile a thread has in registers: `rows` x `columns` of every part,
/// `sums[at_part][at_row][at_column]`.
class TileSums {
 public:
  virtual ~TileSums() = default;

  int rows() const { return rows_; }
  int columns() const { return columns_; }

  /// Declares the variables that the other texts use, once for the kernel.
  virtual void declare(TextWriter& text) const = 0;
  /// The row and column of the tile that `at_row` and `at_column` denote, and the thread's first
  /// column.
  virtual std::string row() const = 0;
  virtual std::string column() const = 0;
  /// The first of two columns side by side, whose index is even.
  virtual std::string even_column() const { return column(); }
  virtual std::string first_column() const = 0;
  /// The condition under which a thread has sums; empty: all have.
  virtual std::string has_sums() const = 0;

  /// Writes `write` for each of a thread's sums, unrolled so that the sums are kept in registers.
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
  TileSums(int rows, int columns) : rows_(rows), columns_(columns) {}

  const int rows_, columns_;
};

/// Writes the text of one way to multiply.
class ProductText : public TileSums {
 public:
  /// The index of the part `at_part`, if the first of the current ones is `part`.
  static std::string part_text(int part) {
    return part == 0 ? "at_part" : fmt::format("(at_part + {})", part);
  }

  /// Terms per element of shared memory where an operand is ready to be multiplied: two terms of 16
  /// bits form a word, stored with the bits of a float.
  virtual int terms_of_word(int product) const {
    (void)product;
    return 1;
  }
  int words(int product, int terms) const { return terms / terms_of_word(product); }
  /// The term of a word, or of its first half; the second half is four terms further. Words count
  /// from a multiple of four.
  std::string term_of(int product, std::string_view word) const {
    return terms_of_word(product) == 1 ? std::string(word)
                                       : fmt::format("{0} / 4 * 8 + {0} % 4", word);
  }
  static constexpr int kSecondTerm = 4;
  /// The value stored there for one number, or for two.
  virtual std::string ready(int product, const std::string& first,
                            const std::string& second) const {
    (void)product, (void)second;
    return first;
  }

  /// The layout of a tile's rows of a left operand, with `words` words per row.
  virtual LeftLayout left_layout(std::string_view words) const = 0;
  /// Elements that they take.
  virtual int64_t left_elements(int64_t words) const = 0;
  virtual int right_stride(int parts) const = 0;
  /// The multiple to which the number of terms is padded with zeros where a whole operand is kept
  /// in shared memory.
  virtual int term_group() const { return 1; }
  /// Minimum number of terms of a piece.
  virtual int least_terms() const { return 1; }

  /// Adds the product of the first `there` terms of two pieces to the sums. Rows and columns of the
  /// tile beyond these ends are not needed.
  virtual void multiply(TextWriter& text, const ProductPieces& pieces, std::string_view row_end,
                        std::string_view column_end) const = 0;

  /// Pieces of a product that are multiplied at a time, each by its own warps, whose sums are then
  /// added in the order of the pieces.
  int pieces_at_a_time() const { return pieces_at_a_time_; }
  /// The offset of the thread's piece from the first term of a turn.
  virtual std::string piece_of_turn(int terms) const {
    (void)terms;
    return {};
  }
  /// The condition under which a thread hands its sums over, and the destination of each sum: of
  /// this thread's sums, and of those that it receives from the warps of the piece `from`.
  virtual std::string hands_over() const { return {}; }
  virtual std::string handed_slot(int parts) const {
    (void)parts;
    return {};
  }
  virtual std::string handed_slot_of(std::string_view from, int parts) const {
    (void)from, (void)parts;
    return {};
  }
  /// Elements of shared memory that they take.
  virtual int64_t handed_elements(int product) const {
    (void)product;
    return 0;
  }

  /// Warps that multiply a piece.
  virtual int warps() const { return ProductTile::kThreads / 32; }
  /// Sums of a thread, of all parts of a product.
  double sums(int product) const {
    return double(rows_) * columns_ * program_.products[size_t(product)].parts;
  }
  /// How often each of them loads from shared memory for a term of a product.
  virtual double loads_of_term(int product) const = 0;

 protected:
  ProductText(const NestProgram& program, const ProductTile& tile, int rows, int columns,
              int pieces_at_a_time = 1)
      : TileSums(rows, columns),
        program_(program),
        tile_(tile),
        pieces_at_a_time_(pieces_at_a_time) {}

  const NestProgram& program_;
  const ProductTile tile_;
  const int pieces_at_a_time_;
};

/// Whether the products use tensor cores. Otherwise they use fused multiply-adds, which round no
/// factor: where a product of the nest has its factors as stored, or the nest has more than eight
/// parts, whose sums would not fit in registers.
bool on_tensor_cores(const NestProgram& program);

/// The implementation for the nests of a program with this tile, whose text names threads as `grid`
/// does: mma_text() on tensor cores, else fma_text().
std::unique_ptr<const ProductText> product_text(
    const NestProgram& program, const ProductTile& tile,
    const NestGrid& grid = NestGrid(NestGrid::Of::launch));
std::unique_ptr<const ProductText> fma_text(const NestProgram& program, const ProductTile& tile,
                                            const NestGrid& grid);
std::unique_ptr<const ProductText> mma_text(const NestProgram& program, const ProductTile& tile);

}  // namespace graphc::core::cuda
