// SPDX-License-Identifier: Apache-2.0
// Products whose left operands come through memory (counted_loop.h): each warp multiplies a part of
// the terms, whose words it loads ahead, by the columns that it has registers for.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/targets/cuda/loops/counted_product.h"
#include "codegen/targets/cuda/loops/counted_text.h"

namespace graphc::core::cuda::internal {

void CountedProductText::multiply_terms() {
  for (size_t p = 0; p < program_.products.size(); ++p) multiply_terms(p);
}

void CountedProductText::multiply_terms(size_t p) {
  const CountedProduct& of = product(p);
  // Other warps have no columns, and so no right fragments.
  if (of.busy_warps() < kCountedWarps)
    text_.open("if (warp < {})", of.busy_warps());
  else
    text_.open_block();
  text_.line("const unsigned inbox = inbox_{};", of.name());
  text_.line("#pragma unroll 1");
  text_.open("for (int row_tile = 0; row_tile < {}; ++row_tile)", loop_.row_tiles);
  text_.line("const unsigned* operand =");
  text_.line("    operand_{} + iteration % 2 * {} + (row_tile * {} * 32 + lane) * {};", of.name(),
             of.operand_words, of.steps, of.left_words());
  declare_sums(p, "partial");
  of.uses_fma() ? multiply_terms_by_fma(p) : multiply_terms_by_mma(p);
  give_sums(p);
  text_.close();
  text_.close();
}

/// Computes `partial_P`, the sums of a warp's terms for a tile of rows.
void CountedProductText::multiply_terms_by_mma(size_t p) {
  const CountedProduct& of = product(p);
  const int batches = (of.steps_of_warp + of.steps_ahead() - 1) / of.steps_ahead();
  const int columns = 2 * of.lanes.tiles_of_warp;
  if (of.has_pieces()) text_.line("float piece[{}][2][{}] = {{}};", of.parts, columns);
  text_.line("// Words of the next steps are on their way while those of some are multiplied.");
  text_.line("unsigned ahead[{}][{}][{}];", std::min(batches, 2), of.steps_ahead(),
             of.left_words());
  load_ahead(p, "0", "ahead[0]");
  text_.line("#pragma unroll");
  text_.open("for (int batch = 0; batch < {}; ++batch)", batches);
  if (batches > 1) load_ahead(p, "(batch + 1)", "ahead[(batch + 1) % 2]");
  text_.line("#pragma unroll");
  text_.open("for (int more = 0; more < {}; ++more)", of.steps_ahead());
  text_.line("const int at = batch * {} + more;", of.steps_ahead());
  text_.open("if (at < {})", of.steps_of_warp);
  step_from_memory(p, of.has_pieces() ? "piece" : fmt::format("partial_{}", p));
  for (int i = 0; i < 3; ++i) text_.close();
  if (of.has_pieces()) add_piece(p, "partial", false);
}

/// Loads the left fragments of the steps of a batch into an array, as far as there are any. A warp
/// whose steps are fewer loads the last one's again.
void CountedProductText::load_ahead(size_t p, std::string_view batch, std::string_view into) {
  const CountedProduct& of = product(p);
  const bool is_partial = of.steps_of_warp * of.lanes.splits() > of.steps;
  const std::string step = first_step_text(of) + "at";
  text_.line("#pragma unroll");
  text_.open("for (int more = 0; more < {}; ++more)", of.steps_ahead());
  text_.line("const int at = {} * {} + more;", batch, of.steps_ahead());
  text_.line("if (at < {})", of.steps_of_warp);
  text_.line(
      "  {}({}[more], operand + {} * {});", of.rows_of_lane == 1 ? "get_two_words" : "get_words",
      into, is_partial ? fmt::format("min({}, {})", step, of.steps - 1) : fmt::format("({})", step),
      32 * of.left_words());
  text_.close();
}

/// Opens the scope of a step, `at` of the warp's, that not all warps have.
void CountedProductText::open_step_from_memory(const CountedProduct& of) {
  const int surely = of.steps - of.steps_of_warp * (of.lanes.splits() - 1);
  if (surely < of.steps_of_warp)
    text_.open("if (at < {} || {}at < {})", std::max(surely, 0), first_step_text(of), of.steps);
  else
    text_.open_block();
}

/// The instructions of a step, whose left fragment is in `ahead`.
void CountedProductText::step_from_memory(size_t p, const std::string& sums) {
  const CountedProduct& of = product(p);
  const int loads = of.loads_of_step(), others = of.steps_of_warp - of.in_registers;
  open_step_from_memory(of);
  text_.line("const unsigned* left = ahead[batch % 2][more];");
  text_.line("unsigned right[{}];", 4 * loads);
  if (of.in_registers > 0) {
    if (others > 0)
      text_.open("if (at < {})", of.in_registers);
    else
      text_.open_block();
    text_.line("#pragma unroll");
    text_.line("for (int word = 0; word < {}; ++word)", of.words_of_step);
    text_.line("  right[word] = weights_{}[at][word];", of.name());
    text_.close();
  }
  if (others > 0) {
    if (of.in_registers > 0)
      text_.open("if (at >= {})", of.in_registers);
    else
      text_.open_block();
    text_.line("#pragma unroll");
    text_.line("for (int load = 0; load < {}; ++load)", loads);
    text_.line(
        "  load_words(&right[load * 4], more_weights_{} + (unsigned)(((warp * {} + at - {}) * {} + "
        "load) * 32 + lane) * 16u);",
        of.name(), others, of.in_registers, loads);
    text_.close();
  }
  instructions(p, sums, "right");
  if (of.has_pieces()) {
    const int piece = kPiece / of.terms_of_step;
    text_.open("if (at % {0} == {0} - 1)", piece);
    add_piece(p, "partial", true);
    text_.close();
  }
  text_.close();
}

/// Stores the sums of a warp's terms in the shared memory of the block.
void CountedProductText::give_sums(size_t p) {
  const CountedProduct& of = product(p);
  text_.line("#pragma unroll");
  text_.open("for (int at = 0; at < {}; ++at)", of.lanes.tiles_of_warp * of.parts);
  text_.line("const int at_part = at % {0}, tile = {1} + at / {0};", of.parts,
             unit_tile_text(of.lanes));
  text_.open("if (tile < {})", of.lanes.unit_tiles);
  text_.line("unsigned words[{}];", of.left_words());
  for (int i = 0; i < of.left_words(); ++i)
    text_.line("words[{}] = __float_as_uint(partial_{}[at_part][{}][at / {} * 2 + {}]);", i, p,
               i / 2, of.parts, i % 2);
  text_.line("store_{}words({}, words);", of.rows_of_lane == 1 ? "two_" : "",
             inbox_place(p, split_text(of.lanes), "tile", "at_part"));
  text_.close();
  text_.close();
}

}  // namespace graphc::core::cuda::internal
