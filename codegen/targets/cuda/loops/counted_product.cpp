// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/counted_product.h"

#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "codegen/targets/cuda/loops/counted_text.h"
#include "codegen/targets/cuda/text/product_text.h"

namespace graphc::core::cuda::internal {
namespace {

/// Terms whose products are summed in one variable (product_text.h), by the instructions for them.
int steps_of_piece(const CountedProduct& product) { return kPiece / product.terms_of_step; }

}  // namespace

std::string_view load_of(const CountedProduct& product) {
  return product.left_words() == 4 ? "load_words" : "load_two_words";
}

template <typename Write>
void CountedProductText::each_sum(int parts, int columns, const Write& write) {
  const std::pair<const char*, int> axes[] = {
      {"at_part", parts}, {"at_row", loop_.rows_of_lane}, {"at_column", columns}};
  for (const auto& [name, extent] : axes) {
    text_.line("#pragma unroll");
    text_.open("for (int {0} = 0; {0} < {1}; ++{0})", name, extent);
  }
  write();
  for (int i = 0; i < 3; ++i) text_.close();
}

const CountedProduct& CountedProductText::product(size_t p) const {
  return loop_.products[loop_.number_of(index_, p)];
}
/// The condition under which a warp finishes the elements of a tile; empty: always.
std::string CountedProductText::finishes() const {
  if (nest_.splits() == 1) return {};
  if (loop_.through_memory)
    return loop_.row_tiles == nest_.splits() ? std::string()
                                             : fmt::format("split < {}", loop_.row_tiles);
  return loop_.row_tiles == 1 ? std::string("split == 0")
                              : fmt::format("split == row_tile % {}", nest_.splits());
}

bool CountedProductText::scatters() const {
  for (size_t p = 0; p < program_.products.size(); ++p) {
    if (product(p).scatters) return true;
  }
  return false;
}

/// The place in the inbox of the sums of a block or a warp for a unit tile and part, in bytes.
std::string CountedProductText::inbox_place(size_t p, std::string_view from, std::string_view tile,
                                            std::string_view part) const {
  return fmt::format(
      "inbox + (unsigned)(((((row_tile * {} + {}) * {} + {}) * {} + {}) * 32 + lane) * {})",
      product(p).senders(loop_.blocks), from, nest_.unit_tiles, tile, program_.products[p].parts,
      part, product(p).left_bytes());
}

/// Multiplies the block's own terms by all columns, and sends each block the sums of its own.
void CountedProductText::scatter() {
  for (size_t p = 0; p < program_.products.size(); ++p) {
    if (product(p).scatters) scatter(p);
  }
}

void CountedProductText::gather() {
  bool hands_over = false;
  for (size_t p = 0; p < program_.products.size(); ++p) {
    if (product(p).scatters) continue;
    multiply(p, "sums");
    hands_over |= nest_.splits() > 1;
  }
  if (hands_over) hand_over();
}

void CountedProductText::take_over() {
  for (size_t p = 0; p < program_.products.size(); ++p) {
    if (product(p).scatters || loop_.through_memory)
      take_sent(p);
    else if (nest_.splits() > 1)
      take_over(p);
  }
}

void CountedProductText::scatter(size_t p) {
  const CountedProduct& of = product(p);
  text_.open_block();
  multiply(p, "partial");
  text_.line("// Each block gets the sums of its columns.");
  text_.line("const unsigned counter = counter_{} + (unsigned)(iteration % 2) * 8u;", of.name());
  text_.line("const unsigned inbox = inbox_{}{};", of.name(),
             of.copy_text("iteration", of.inbox_words));
  text_.line("#pragma unroll");
  text_.open("for (int at = 0; at < {}; ++at)", of.lanes.tiles_of_warp);
  text_.line("const int tile = {} + at;", unit_tile_text(of.lanes));
  text_.open("if (tile < {})", of.lanes.unit_tiles);
  for (int part = 0; part < program_.products[p].parts; ++part) {
    std::vector<std::string> sums;
    for (int i = 0; i < of.left_words(); ++i)
      sums.push_back(fmt::format("partial_{}[{}][{}][at * 2 + {}]", p, part, i / 2, i % 2));
    text_.line(
        "send_{}_sums({},", of.left_words(),
        inbox_place(p, "rank", fmt::format("tile % {}", nest_.unit_tiles), std::to_string(part)));
    text_.line("            counter, (unsigned)(tile / {}), {});", nest_.unit_tiles,
               fmt::join(sums, ", "));
  }
  for (int i = 0; i < 3; ++i) text_.close();
}

/// Adds the sums of all blocks, or of the warps that share the terms, in their order.
void CountedProductText::take_sent(size_t p) {
  const CountedProduct& of = product(p);
  text_.line("float sums_{}[{}][2][{}] = {{}};", p, program_.products[p].parts, columns_);
  text_.open_block();
  if (loop_.through_memory)
    text_.line("const unsigned inbox = inbox_{};", of.name());
  else
    text_.line("const unsigned inbox = inbox_{}{};", of.name(),
               of.copy_text("iteration", of.inbox_words));
  text_.line("#pragma unroll");
  text_.open("for (int at = 0; at < {}; ++at)", nest_.tiles_of_warp * program_.products[p].parts);
  text_.line("const int at_part = at % {0}, tile = at / {0};", program_.products[p].parts);
  text_.open("if (unit_tile + tile < {})", nest_.unit_tiles);
  text_.line("#pragma unroll");
  text_.open("for (int from = 0; from < {}; ++from)", of.senders(loop_.blocks));
  text_.line("unsigned words[{}];", of.left_words());
  text_.line("{}(words, {});", load_of(of), inbox_place(p, "from", "unit_tile + tile", "at_part"));
  text_.line("#pragma unroll");
  text_.open("for (int word = 0; word < {}; ++word)", of.left_words());
  text_.line("sums_{0}[at_part][word / 2][tile * 2 + word % 2] =", p);
  text_.line(
      "    sums_{0}[at_part][word / 2][tile * 2 + word % 2] + "
      "__uint_as_float(words[word]);",
      p);
  for (int i = 0; i < 5; ++i) text_.close();
}

bool CountedProductText::has_idle_warps(size_t p) const {
  const CountedProduct& of = product(p);
  return !of.scatters && of.lanes.warps * of.lanes.tiles_of_warp > of.lanes.unit_tiles;
}

void CountedProductText::declare_sums(size_t p, std::string_view into) {
  text_.line("// {} by {}: terms in the order of those who made them.",
             body_.name_of(ParameterKind::left, int(p)),
             body_.name_of(ParameterKind::right, int(p)));
  // Fused multiply-adds set them, but those of warps without columns.
  const bool are_set = product(p).uses_fma() && (loop_.through_memory || !has_idle_warps(p));
  text_.line("float {}_{}[{}][2][{}]{};", into, p, program_.products[p].parts,
             2 * product(p).lanes.tiles_of_warp, are_set ? "" : " = {}");
}

/// The sums of a split's terms, in pieces.
void CountedProductText::multiply(size_t p, std::string_view into) {
  const CountedProduct& of = product(p);
  declare_sums(p, into);
  // A warp without columns must not read: nothing that it sends would say that it has.
  if (has_idle_warps(p))
    text_.open("if (unit_tile < {})", of.lanes.unit_tiles);
  else
    text_.open_block();
  text_.line("const unsigned operand = operand_{}{};", of.name(),
             of.copy_text("iteration", of.operand_words));
  of.uses_fma() ? multiply_by_fma(p, into) : multiply_by_mma(p, into);
  text_.close();
}

/// The instructions of all steps of a warp.
void CountedProductText::multiply_by_mma(size_t p, std::string_view into) {
  const CountedProduct& of = product(p);
  const bool pieces = of.has_pieces();
  if (pieces) text_.line("float piece[{}][2][{}] = {{}};", of.parts, 2 * of.lanes.tiles_of_warp);
  const auto steps = [&](int begin, int end) {
    text_.open("for (int at = {}; at < {}; ++at)", begin, end);
    step(p, begin, pieces ? "piece" : fmt::format("{}_{}", into, p));
    if (pieces) {
      text_.open("if (at % {0} == {0} - 1)", steps_of_piece(of));
      add_piece(p, into, true);
      text_.close();
    }
    text_.close();
  };
  if (of.in_registers > 0) {
    text_.line("#pragma unroll");
    steps(0, of.in_registers);
  }
  if (of.in_registers < of.steps_of_warp) {
    text_.line("#pragma unroll 4");
    steps(of.in_registers, of.steps_of_warp);
  }
  if (pieces) add_piece(p, into, false);
}

/// Adds the sums of a piece to the others.
void CountedProductText::add_piece(size_t p, std::string_view into, bool again) {
  each_sum(program_.products[p].parts, 2 * product(p).lanes.tiles_of_warp, [&] {
    const std::string_view at = "[at_part][at_row][at_column]";
    text_.line("{0}_{1}{2} = {0}_{1}{2} + piece{2};", into, p, at);
    if (again) text_.line("piece{} = 0.0f;", at);
  });
}

/// The instructions for the terms of a step.
void CountedProductText::step(size_t p, int begin, const std::string& sums) {
  const CountedProduct& of = product(p);
  const bool in_registers = begin < of.in_registers;
  text_.line("const int step = {}at;", first_step_text(of));
  const bool is_partial = of.steps_of_warp * of.lanes.splits() > of.steps;
  if (is_partial) text_.open("if (step < {})", of.steps);
  text_.line("unsigned left[{}];", of.left_words());
  text_.line("{}(left, operand + (unsigned)((row_tile * {} + step) * 32 + lane) * {}u);",
             load_of(of), of.steps, of.left_bytes());
  const int words = of.loads_of_step() * 4;
  if (!in_registers) {
    text_.line("unsigned right[{}];", words);
    text_.line("#pragma unroll");
    text_.open("for (int load = 0; load < {}; ++load)", of.loads_of_step());
    text_.line(
        "load_words(&right[load * 4], more_weights_{} + (unsigned)(((warp * {} + at - {}) * "
        "{} + load) * 32 + lane) * 16u);",
        of.name(), of.steps_of_warp - of.in_registers, of.in_registers, of.loads_of_step());
    text_.close();
  }
  instructions(p, sums, in_registers ? fmt::format("weights_{}[at]", of.name()) : "right");
  if (is_partial) text_.close();
}

/// The instructions by `left` and the words of an array.
void CountedProductText::instructions(size_t p, const std::string& sums, const std::string& right) {
  const CountedProduct& of = product(p);
  const bool split = of.factors == Factors::split_tf32;
  if (split) split_words("left", "left", std::to_string(of.left_words()));
  const int tiles = of.lanes.tiles_of_warp;
  text_.line("#pragma unroll");
  text_.open("for (int tile = 0; tile < {}; ++tile)", program_.products[p].parts * tiles);
  if (tiles == 1)
    text_.line("const int at_part = tile, at_column = 0;");
  else
    text_.line("const int at_part = tile / {0}, at_column = tile % {0} * 2;", tiles);
  if (split) {
    text_.line("unsigned pair[2];");
    for (int i = 0; i < 2; ++i) text_.line("pair[{0}] = {1}[tile * 2 + {0}];", i, right);
    split_words("pair", "right", "2");
    instruction(of.factors, sums, "left_low", "right_fragment[0]", "right_fragment[1]");
    instruction(of.factors, sums, "left_fragment", "right_low[0]", "right_low[1]");
    instruction(of.factors, sums, "left_fragment", "right_fragment[0]", "right_fragment[1]");
  } else {
    instruction(of.factors, sums, "left", right + "[tile * 2]", right + "[tile * 2 + 1]");
  }
  text_.close();
}

/// The two tf32 whose sum is almost an f32, of each of some words.
void CountedProductText::split_words(std::string_view words, std::string_view side,
                                     std::string_view count) {
  text_.line("unsigned {0}_fragment[{1}], {0}_low[{1}];", side, count);
  text_.line("#pragma unroll");
  text_.open("for (int word = 0; word < {}; ++word)", count);
  text_.line("{}_fragment[word] = tf32_bits(__uint_as_float({}[word]));", side, words);
  text_.line(
      "{0}_low[word] = tf32_bits(__uint_as_float({1}[word]) - tf32_value({0}_fragment[word]));",
      side, words);
  text_.close();
}

void CountedProductText::instruction(Factors factors, const std::string& sums,
                                     std::string_view left, std::string_view first,
                                     std::string_view second) {
  text_.line("asm volatile(");
  text_.line("    \"mma.sync.aligned.{} \"", mma_form(factors).name);
  text_.line("    \"{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};\"");
  text_.line("    : \"+f\"({0}[at_part][0][at_column]), \"+f\"({0}[at_part][0][at_column + 1]),",
             sums);
  text_.line("      \"+f\"({0}[at_part][1][at_column]), \"+f\"({0}[at_part][1][at_column + 1])",
             sums);
  // Rows that a tile of eight does not have are zeros.
  if (loop_.rows_of_lane == 1)
    text_.line("    : \"r\"({0}[0]), \"r\"(0u), \"r\"({0}[1]), \"r\"(0u),", left);
  else
    text_.line("    : \"r\"({0}[0]), \"r\"({0}[1]), \"r\"({0}[2]), \"r\"({0}[3]),", left);
  text_.line("      \"r\"({}), \"r\"({}));", first, second);
}

/// Where the sums of a split for a tile of rows lie until the warp takes them that finishes it.
/// They alternate between two places: who writes there has met who read there last.
std::string CountedProductText::handed_place(size_t p, std::string_view split) const {
  const CountedProduct& of = product(p);
  const int of_warp = of.words_of_step * loop_.rows_of_lane;
  return fmt::format(
      "shared[{5} + (({6} % 2 * {0} + {1} * {2} + warp % {2}) * {3} + (at_part * {7} + "
      "at_row) * {4} + at_column) * 32 + lane]",
      kCountedWarps, split, nest_.warps, of_warp, columns_, of.sums_at,
      loop_.row_tiles % 2 == 0 ? "row_tile" : "(iteration + row_tile)", loop_.rows_of_lane);
}

void CountedProductText::hand_over() {
  text_.line("// The splits of the terms meet: every warp finishes its tiles of rows.");
  if (loop_.row_tiles == 1)
    text_.open("if (split != 0)");
  else
    text_.open("if (split != row_tile % {})", nest_.splits());
  for (size_t p = 0; p < program_.products.size(); ++p) {
    if (product(p).scatters) continue;
    each_sum(program_.products[p].parts, columns_, [&] {
      text_.line("{} = sums_{}[at_part][at_row][at_column];", handed_place(p, "split"), p);
    });
  }
  text_.close();
  text_.line("__syncthreads();");
}

/// Adds the sums of all splits, in their order.
void CountedProductText::take_over(size_t p) {
  each_sum(program_.products[p].parts, columns_, [&] {
    text_.line("const float own = sums_{}[at_part][at_row][at_column];", p);
    text_.line("float sum = 0.0f;");
    text_.line("#pragma unroll");
    text_.open("for (int from = 0; from < {}; ++from)", nest_.splits());
    text_.line("sum = sum + (from == split ? own : {});", handed_place(p, "from"));
    text_.close();
    text_.line("sums_{}[at_part][at_row][at_column] = sum;", p);
  });
}

}  // namespace graphc::core::cuda::internal
