// SPDX-License-Identifier: Apache-2.0
// A warp multiplies 16 rows by 8 columns at a time. Its 32 lanes are eight groups of four: of both
// operands a group has a row (or a column), a lane of it every fourth term; of the sums a lane has
// two rows and two columns (PTX ISA, "Matrix Fragments for mma.m16n8k8" and "... m16n8k16").
//
// An instruction takes eight terms of tf32, or sixteen of 16 bits, two in a register. Which terms
// these are is free as long as both operands agree: here lane i of a group has terms i, i + 4, ...,
// so that all precisions read shared memory alike.
#include "codegen/cuda/mma_text.h"

#include <algorithm>
#include <vector>

namespace graphc::cuda {
namespace {

constexpr int kMmaWarps = 8;
/// How far terms of `extent` elements lie apart: 8 banks, or 24. Then the 32 lanes of a warp, which
/// read eight neighbours of each of four terms, meet in no bank. Extents are multiples of 8.
int padded(int extent) { return extent % 16 == 0 ? extent + 8 : extent; }
/// Sums of a thread when the tile is as small as it can be, four of each part: more than that spill
/// where two blocks share a multiprocessor.
constexpr int kMostMmaSums = 64;

/// How the factors of an instruction are made of f32.
struct MmaForm {
  std::string_view name;     ///< of the instruction, what is special to it
  int terms = 8;             ///< of one instruction
  std::string_view rounded;  ///< the function that makes a register of them
};

MmaForm mma_form(Factors factors) {
  switch (factors) {
    case Factors::bf16:
      return {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, "bf16_pair"};
    case Factors::f16:
      return {"m16n8k16.row.col.f32.f16.f16.f32", 16, "f16_pair"};
    default:
      return {"m16n8k8.row.col.f32.tf32.tf32.f32", 8, "tf32_bits"};
  }
}

class MmaText : public ProductText {
 public:
  MmaText(const NestProgram& program, const ProductTile& tile, int warp_columns, int warp_rows)
      : ProductText(program, tile, 2 * tile.block_rows() / kMmaRows / warp_rows,
                    2 * tile.block_columns() / kMmaColumns / warp_columns),
        warp_columns_(warp_columns),
        warps_(warp_columns * warp_rows) {}

  void declare(TextWriter& text) const override {
    text.line(
        "// A warp has the sums of {} x {} elements; which of them a lane has, the instruction",
        rows_ * 8, columns_ * 4);
    text.line("// of the tensor cores says: rows of its group, two columns side by side.");
    text.line("const int lane = (threadIdx.y * {0} + threadIdx.x) % 32;", tile_.across);
    text.line("const int warp = (threadIdx.y * {0} + threadIdx.x) / 32;", tile_.across);
    text.line("const int group = lane / 4, in_group = lane % 4;");
    text.line("const int warp_row = warp / {} * {}, warp_column = warp % {} * {};", warp_columns_,
              rows_ * 8, warp_columns_, columns_ * 4);
  }
  std::string row() const override { return "warp_row + at_row * 8 + group"; }
  std::string column() const override {
    return "warp_column + at_column / 2 * 8 + in_group * 2 + at_column % 2";
  }
  std::string first_column() const override { return "warp_column + in_group * 2"; }
  std::string has_sums() const override {
    return warps_ == kMmaWarps ? std::string() : fmt::format("warp < {}", warps_);
  }

  int left_stride() const override { return padded(tile_.block_rows()); }
  int right_stride(int parts) const override { return padded(parts * tile_.block_columns()); }
  int term_group() const override { return 16; }

  void multiply(TextWriter& text, const ProductPieces& pieces, std::string_view row_end,
                std::string_view column_end) const override {
    const Factors factors = program_.products[size_t(pieces.product)].factors;
    const MmaForm form = mma_form(factors);
    const bool split = factors == Factors::split_tf32;
    // All lanes of a warp come, or none: its first row and column decide.
    text.open("if ({}first_row + warp_row < {} && first_column + warp_column < {})",
              has_sums().empty() ? "" : has_sums() + " && ", row_end, column_end);
    text.open("for (int at_term = 0; at_term < there; at_term += {})", form.terms);
    text.line("const int lane_term = at_term + in_group;");
    write_left(text, pieces, form, split);
    text.line("#pragma unroll");
    text.open("for (int at_part = 0; at_part < {}; ++at_part)", pieces.parts);
    text.line("#pragma unroll");
    text.open("for (int at_column = 0; at_column < {}; at_column += 2)", columns_);
    write_right(text, pieces, form, split);
    text.line("#pragma unroll");
    text.open("for (int at_row = 0; at_row < {}; at_row += 2)", rows_);
    // The small products first: they are not lost beside the large one of the same terms.
    if (split) {
      write_instruction(text, form, "left_low", "right_fragment");
      write_instruction(text, form, "left_fragment", "right_low");
    }
    write_instruction(text, form, "left_fragment", "right_fragment");
    for (int i = 0; i < 5; ++i) text.close();
  }

  double loads_of_term(int parts) const override {
    // For eight terms, four registers of 16 rows, two of eight columns.
    return (2.0 * rows_ + double(parts) * columns_) / 8;
  }

 private:
  /// The element of the piece for the term `slot` behind the lane's own; 0 where the piece ends
  /// before.
  template <typename Element>
  std::string element(int slot, const Element& at) const {
    const int left = tile_.terms - slot;
    if (left <= 0) return "0.0f";
    const std::string text = at(slot == 0 ? "lane_term" : fmt::format("lane_term + {}", slot));
    return left >= 4 ? text : fmt::format("(in_group < {} ? {} : 0.0f)", left, text);
  }

  /// The numbers that go into a register of an operand: one of them, or two.
  template <typename Element>
  std::string numbers(const MmaForm& form, int half, const Element& at) const {
    const int first = half * form.terms / 2;
    if (form.terms == 8) return element(first, at);
    return element(first, at) + ", " + element(first + 4, at);
  }

  void write_left(TextWriter& text, const ProductPieces& pieces, const MmaForm& form,
                  bool split) const {
    text.line("unsigned left_fragment[{}][4];", rows_ / 2);
    if (split) text.line("unsigned left_low[{}][4];", rows_ / 2);
    text.line("#pragma unroll");
    text.open("for (int at_row = 0; at_row < {}; at_row += 2)", rows_);
    text.line("const int left_row = {};", row());
    for (int i = 0; i < 4; ++i) {
      const auto at = [&](std::string_view term) {
        return fmt::format("left_{}[({}) * {} + left_row{}]", pieces.product, term, left_stride(),
                           i % 2 == 0 ? "" : " + 8");
      };
      write_register(text, form, split, "left", fmt::format("[at_row / 2][{}]", i),
                     numbers(form, i / 2, at));
    }
    text.close();
  }

  void write_right(TextWriter& text, const ProductPieces& pieces, const MmaForm& form,
                   bool split) const {
    text.line("unsigned right_fragment[2];");
    if (split) text.line("unsigned right_low[2];");
    text.line("const int right_column = {} * {} + warp_column + at_column * 4 + group;",
              part_text(pieces.first_part), tile_.block_columns());
    for (int i = 0; i < 2; ++i) {
      const auto at = [&](std::string_view term) {
        return fmt::format("{}[({}) * {} + right_column]", pieces.right, term,
                           right_stride(pieces.right_parts));
      };
      write_register(text, form, split, "right", fmt::format("[{}]", i), numbers(form, i, at));
    }
  }

  static void write_register(TextWriter& text, const MmaForm& form, bool split,
                             std::string_view side, const std::string& index,
                             const std::string& numbers) {
    if (split) {
      text.line("{0}_fragment{1} = tf32_bits({2});", side, index, numbers);
      text.line("{0}_low{1} = tf32_bits({2} - tf32_value({0}_fragment{1}));", side, index, numbers);
    } else {
      text.line("{}_fragment{} = {}({});", side, index, form.rounded, numbers);
    }
  }

  static void write_instruction(TextWriter& text, const MmaForm& form, std::string_view left,
                                std::string_view right) {
    text.line("asm volatile(");
    text.line("    \"mma.sync.aligned.{} \"", form.name);
    text.line("    \"{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};\"");
    const auto sum = [](int i) {
      return fmt::format("\"+f\"(sums[at_part][at_row{}][at_column{}])", i / 2 == 0 ? "" : " + 1",
                         i % 2 == 0 ? "" : " + 1");
    };
    text.line("    : {}, {},", sum(0), sum(1));
    text.line("      {}, {}", sum(2), sum(3));
    text.line("    : \"r\"({0}[at_row / 2][0]), \"r\"({0}[at_row / 2][1]),", left);
    text.line("      \"r\"({0}[at_row / 2][2]), \"r\"({0}[at_row / 2][3]),", left);
    text.line("      \"r\"({0}[0]), \"r\"({0}[1]));", right);
  }

  const int warp_columns_, warps_;
};

}  // namespace

bool on_tensor_cores(const NestProgram& program) {
  int parts = 0;
  for (const NestProduct& product : program.products) {
    parts += product.parts;
    if (product.factors == Factors::as_stored) return false;
  }
  return 4 * (parts + std::min(parts, kPartsAtOnce)) <= kMostMmaSums;
}

std::unique_ptr<const ProductText> mma_text(const NestProgram& program, const ProductTile& tile) {
  const int rows = tile.block_rows() / kMmaRows, columns = tile.block_columns() / kMmaColumns;
  // Two rows of warps where there are, so that what a lane reads of either operand serves twice.
  const int warp_columns = std::min(columns, kMmaWarps / std::min(rows, 2));
  const int warp_rows = std::min(rows, kMmaWarps / warp_columns);
  return std::make_unique<MmaText>(program, tile, warp_columns, warp_rows);
}

}  // namespace graphc::cuda
