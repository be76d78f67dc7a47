// SPDX-License-Identifier: Apache-2.0
// Products on tensor cores, by mma.sync.
//
// A warp multiplies 16 rows by 8 columns at a time. Its 32 lanes form eight groups of four. Of each
// operand a group has a row (or a column), and a lane has every fourth term of it; of the sums a
// lane has two rows and two columns (PTX ISA, "Matrix Fragments for mma.m16n8k8" and "...
// m16n8k16").
//
// An instruction takes eight terms of tf32, or sixteen of 16 bits, two per register. Any assignment
// of terms is valid as long as both operands agree: here lane i of a group has terms i, i + 4, ....
// Operands are rounded when they are written to shared memory, once for all threads that read them,
// and 16-bit terms are stored in pairs, terms i and i + 4 of eight in one word: half the memory and
// half the loads. Only operands that blocks of a cluster exchange are stored unrounded.
//
// The left operand is stored row by row, so that threads that read neighbours along a row of memory
// write neighbours.
#include <algorithm>

#include "codegen/targets/cuda/text/product_text.h"

namespace graphc::core::cuda {
namespace {

/// The distance between words of the right operand of `extent` elements: 8 banks modulo 32, or 24.
/// The 32 lanes of a warp read eight neighbours of each of four words; with these distances there
/// are no bank conflicts. Extents are multiples of 8.
int padded(int extent) { return extent % 16 == 0 ? extent + 8 : extent; }
/// Padding of a row of the left operand, whose number of words is a multiple of 8: lanes that read
/// four neighbours of each of eight rows then have no bank conflicts.
constexpr int kRowPadding = 4;
class MmaText : public ProductText {
 public:
  MmaText(const NestProgram& program, const ProductTile& tile, int warp_columns, int warp_rows,
          int turns)
      : ProductText(program, tile, 2 * tile.block_rows() / kMmaRows / warp_rows,
                    2 * tile.block_columns() / kMmaColumns / warp_columns, turns),
        warp_columns_(warp_columns),
        warps_(warp_columns * warp_rows) {}

  void declare(TextWriter& text) const override {
    MmaLayout{rows_, columns_, warp_columns_}.declare(text,
                                                      pieces_at_a_time() == 1 ? kMmaWarps : warps_);
  }
  std::string row() const override { return MmaLayout::row(); }
  std::string column() const override { return MmaLayout::column(); }
  std::string first_column() const override { return MmaLayout::first_column(); }
  std::string has_sums() const override {
    return warps_ == kMmaWarps ? std::string() : fmt::format("warp < {}", warps_);
  }

  int terms_of_word(int product) const override { return form_of(product).terms / 8; }
  std::string ready(int product, const std::string& first,
                    const std::string& second) const override {
    if (is_split(product)) return first;
    const MmaForm form = form_of(product);
    return fmt::format("__uint_as_float({}({}{}))", form.rounded, first,
                       form.terms == 8 ? "" : ", " + second);
  }
  LeftLayout left_layout(std::string_view words) const override {
    const std::string row = fmt::format("({} + {})", words, kRowPadding);
    return {row, "1", fmt::format("({} * {})", tile_.block_rows(), row)};
  }
  int64_t left_elements(int64_t words) const override {
    return tile_.block_rows() * (words + kRowPadding);
  }
  int least_terms() const override { return 16; }
  int right_stride(int parts) const override { return padded(parts * tile_.block_columns()); }
  int term_group() const override { return 16; }

  void multiply(TextWriter& text, const ProductPieces& pieces, std::string_view row_end,
                std::string_view column_end) const override {
    const MmaForm form = form_of(pieces.product);
    const bool split = is_split(pieces.product);
    // All lanes of a warp enter, or none: the warp's first row and column decide.
    text.open("if ({}first_row + warp_row < {} && first_column + warp_column < {})",
              warps_ * pieces_at_a_time() == kMmaWarps
                  ? ""
                  : fmt::format("warp < {} && ", warps_ * pieces_at_a_time()),
              row_end, column_end);
    // Unrolls several steps, so that loads of the next ones overlap products; fewer if much of a
    // stage, or two of each factor, are kept in registers.
    const bool is_crowded = pieces_at_a_time() > 2 || split;
    if (tile_.k > 4 * form.terms) text.line("#pragma unroll {}", is_crowded ? 2 : 4);
    text.open("for (int at_term = 0; at_term < there; at_term += {})", form.terms);
    if (!pieces.left_is_ready || form.terms == 8)
      text.line("const int lane_term = at_term + in_group;");
    if (form.terms > 8) text.line("const int lane_word = at_term / 2 + in_group;");
    write_left(text, pieces, form, split);
    text.line("#pragma unroll");
    text.open("for (int at_part = 0; at_part < {}; ++at_part)", pieces.parts);
    text.line("#pragma unroll");
    text.open("for (int at_column = 0; at_column < {}; at_column += 2)", columns_);
    write_right(text, pieces, form, split);
    text.line("#pragma unroll");
    text.open("for (int at_row = 0; at_row < {}; at_row += 2)", rows_);
    // The small products first, so that they are not lost next to the large product of the same
    // terms.
    if (split) {
      write_instruction(text, form, "left_low", "right_fragment");
      write_instruction(text, form, "left_fragment", "right_low");
    }
    write_instruction(text, form, "left_fragment", "right_fragment");
    for (int i = 0; i < 5; ++i) text.close();
  }

  std::string piece_of_turn(int terms) const override {
    return pieces_at_a_time() == 1 ? std::string() : fmt::format(" + in_turn * {}", terms);
  }
  std::string hands_over() const override {
    return fmt::format("in_turn > 0 && warp < {}", warps_ * pieces_at_a_time());
  }
  std::string handed_slot(int parts) const override { return handed_slot_of("in_turn", parts); }
  std::string handed_slot_of(std::string_view from, int parts) const override {
    return fmt::format(
        "((({} - 1) * {} + at_part) * {} + at_row * {} + at_column) * {} + "
        "warp_of_piece * 32 + lane",
        from, parts, rows_ * columns_, columns_, warps_ * 32);
  }
  int64_t handed_elements(int product) const override {
    const int parts = std::min(program_.products[size_t(product)].parts, kPartsAtOnce);
    return int64_t{pieces_at_a_time() - 1} * parts * rows_ * columns_ * warps_ * 32;
  }

  int warps() const override { return warps_; }
  double loads_of_term(int product) const override {
    const int parts = program_.products[size_t(product)].parts;
    // For eight words: four registers of 16 rows, two of eight columns.
    return (2.0 * rows_ + double(parts) * columns_) / 8 / terms_of_word(product);
  }

 private:
  MmaForm form_of(int product) const {
    return mma_form(program_.products[size_t(product)].factors);
  }
  bool is_split(int product) const {
    return program_.products[size_t(product)].factors == Factors::split_tf32;
  }

  static std::string plus(std::string_view name, int number) {
    return number == 0 ? std::string(name) : fmt::format("{} + {}", name, number);
  }

  /// The numbers for the register of an instruction's first or second half, for an operand stored
  /// as in memory: one of them, or two.
  template <typename Element>
  static std::string numbers(const MmaForm& form, int half, const Element& at) {
    const int first = half * form.terms / 2;
    if (form.terms == 8) return at(plus("lane_term", first));
    return at(plus("lane_term", first)) + ", " + at(plus("lane_term", first + kSecondTerm));
  }
  /// The index of the word, for an operand that is ready.
  static std::string word(const MmaForm& form, int half) {
    return plus(form.terms == 8 ? "lane_term" : "lane_word", 4 * half);
  }

  void write_left(TextWriter& text, const ProductPieces& pieces, const MmaForm& form,
                  bool split) const {
    const LeftLayout layout = left_layout(pieces.left_words);
    text.line("unsigned left_fragment[{}][4];", rows_ / 2);
    if (split) text.line("unsigned left_low[{}][4];", rows_ / 2);
    text.line("#pragma unroll");
    text.open("for (int at_row = 0; at_row < {}; at_row += 2)", rows_);
    text.line("const int left_row = {};", row());
    for (int i = 0; i < 4; ++i) {
      const auto at = [&](std::string_view term) {
        return fmt::format("{}[(left_row{}) * {} + {}]", pieces.left, i % 2 == 0 ? "" : " + 8",
                           layout.row, term);
      };
      const std::string index = fmt::format("[at_row / 2][{}]", i);
      if (pieces.left_is_ready && !split)
        text.line("left_fragment{} = __float_as_uint({});", index, at(word(form, i / 2)));
      else
        write_register(text, form, split, "left", index, numbers(form, i / 2, at));
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
      const std::string index = fmt::format("[{}]", i);
      const std::string at = fmt::format("{}[({}) * {} + right_column]", pieces.right,
                                         word(form, i), right_stride(pieces.right_parts));
      if (split)
        write_register(text, form, split, "right", index, at);
      else
        text.line("right_fragment{} = __float_as_uint({});", index, at);
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
    write_mma(text, form, left, {fmt::format("{}[0]", right), fmt::format("{}[1]", right)},
              "at_part", "at_column");
  }

  const int warp_columns_, warps_;
};

std::unique_ptr<const ProductText> mma_text_of(const NestProgram& program, const ProductTile& tile,
                                               int rows, int columns, int turns) {
  const int warps = kMmaWarps / turns;
  // Two rows of warps if possible, so that each load of a lane of either operand serves twice.
  const int warp_columns = std::min(columns, std::max(warps / std::min(rows, 2), 1));
  const int warp_rows = std::min(rows, warps / warp_columns);
  return std::make_unique<MmaText>(program, tile, warp_columns, warp_rows, turns);
}

}  // namespace

std::unique_ptr<const ProductText> mma_text(const NestProgram& program, const ProductTile& tile) {
  const int rows = tile.block_rows() / kMmaRows, columns = tile.block_columns() / kMmaColumns;
  // As many pieces at a time as are in shared memory: each load of a lane of the left operand then
  // serves most columns.
  for (int turns = std::clamp(tile.k / kPiece, 1, kMmaWarps); turns > 1; turns /= 2) {
    auto text = mma_text_of(program, tile, rows, columns, turns);
    const int parts = parts_of(program);
    const int sums = text->rows() * text->columns() * (parts + std::min(parts, kPartsAtOnce));
    if (kMmaWarps / turns <= columns * rows && sums <= kMostMmaSums) return text;
  }
  return mma_text_of(program, tile, rows, columns, 1);
}

}  // namespace graphc::core::cuda
