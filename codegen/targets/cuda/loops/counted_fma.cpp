// SPDX-License-Identifier: Apache-2.0
// Products of a counted loop whose factors are as stored (counted_loop.h): a lane has a column of
// each unit tile, all rows of a tile of rows, and a quarter of the terms.
#include <fmt/format.h>

#include "codegen/targets/cuda/loops/counted_product.h"
#include "codegen/targets/cuda/loops/counted_text.h"

namespace graphc::core::cuda::internal {
namespace {

bool has_turns(const CountedProduct& of) { return of.columns() > of.columns_at_a_time(); }

/// The column of a lane in this turn, and the load that brings it with its neighbour.
std::string_view column_text(const CountedProduct& of) {
  return has_turns(of) ? "(first + each)" : "each";
}
std::string_view load_text(const CountedProduct& of) {
  return has_turns(of) ? "first / 2 + load" : "load";
}

}  // namespace

/// Brings the sums of the columns of a turn into scope, those from `first` on if there are several.
void CountedProductText::open_columns_of_fma(const CountedProduct& of) {
  if (has_turns(of)) {
    text_.line("#pragma unroll");
    text_.open("for (int first = 0; first < {}; first += {})", of.columns(),
               of.columns_at_a_time());
  } else {
    text_.open_block();
  }
  text_.line("float of_columns[{}][{}] = {{}};", of.columns_at_a_time(), kUnits * of.rows_of_lane);
}

/// Adds the sums of the lanes of a column, and gives each lane those that instructions of the
/// tensor cores give it.
void CountedProductText::close_columns_of_fma(const CountedProduct& of, std::string_view into) {
  const int tiles = of.lanes.tiles_of_warp;
  open_each_column(of);
  text_.line("#pragma unroll");
  text_.open("for (int at_row = 0; at_row < {}; ++at_row)", of.rows_of_lane);
  if (tiles == 1)
    text_.line("const int at_part = {}, at_column = 0;", column_text(of));
  else
    text_.line("const int at_part = {0} / {1}, at_column = {0} % {1} * 2;", column_text(of), tiles);
  text_.line("give_sums(&of_columns[each][at_row * {}], &{}[at_part][at_row][at_column]);", kUnits,
             into);
  for (int i = 0; i < 3; ++i) text_.close();
  text_.close();
}

/// Opens two scopes.
void CountedProductText::open_each_column(const CountedProduct& of) {
  text_.line("#pragma unroll");
  text_.open("for (int each = 0; each < {}; ++each)", of.columns_at_a_time());
  if (of.columns() % of.columns_at_a_time() == 0)
    text_.open_block();
  else
    text_.open("if (first + each < {})", of.columns());
}

/// Multiplies the two terms of a lane in a step, whose left fragments begin at an address given as
/// text. `at` is in scope: the number of the step among the warp's.
void CountedProductText::step_of_fma(const CountedProduct& of, std::string_view left, Right right) {
  const int rows = of.rows_of_lane;
  text_.line("float left[2][{}];", kUnits * rows);
  text_.line("#pragma unroll");
  text_.open("for (int at_row = 0; at_row < {}; ++at_row)", kUnits);
  text_.line("unsigned words[{}];", of.left_words());
  text_.line("{}(words, {} + (unsigned)(at_row * 4 + terms_lane) * {}u);", load_of(of), left,
             of.left_bytes());
  for (int word = 0; word < of.left_words(); ++word) {
    const std::string behind = word % rows == 0 ? "" : fmt::format(" + {}", kUnits);
    text_.line("left[{}][at_row{}] = __uint_as_float(words[{}]);", word / rows, behind, word);
  }
  text_.close();
  text_.line("unsigned right[{}];", 2 * of.columns_at_a_time() + 2 * (of.columns_at_a_time() % 2));
  if (right == Right::either) text_.open("if (at < {})", of.in_registers);
  if (right != Right::in_shared) take_right_of_fma(of);
  if (right == Right::either) {
    text_.close();
    text_.open("if (at >= {})", of.in_registers);
  }
  if (right != Right::in_registers) load_right_of_fma(of);
  if (right == Right::either) text_.close();
  open_each_column(of);
  text_.line("#pragma unroll");
  text_.open("for (int at_term = 0; at_term < 2; ++at_term)");
  text_.line("#pragma unroll");
  text_.line("for (int at_row = 0; at_row < {}; ++at_row)", kUnits * rows);
  text_.line("  of_columns[each][at_row] =");
  text_.line("      fmaf(left[at_term][at_row], __uint_as_float(right[each * 2 + at_term]),");
  text_.line("           of_columns[each][at_row]);");
  for (int i = 0; i < 3; ++i) text_.close();
}

/// Takes the right fragments of the columns at a time of a step from registers.
void CountedProductText::take_right_of_fma(const CountedProduct& of) {
  open_each_column(of);
  text_.line("#pragma unroll");
  text_.line("for (int at_term = 0; at_term < 2; ++at_term)");
  text_.line("  right[each * 2 + at_term] = weights_{}[at][{} * 2 + at_term];", of.name(),
             column_text(of));
  for (int i = 0; i < 2; ++i) text_.close();
}

/// Loads the right fragments of the columns at a time of a step from shared memory.
void CountedProductText::load_right_of_fma(const CountedProduct& of) {
  const int loads = (of.columns_at_a_time() + 1) / 2;
  text_.line("#pragma unroll");
  text_.open("for (int load = 0; load < {}; ++load)", loads);
  const bool is_full = of.loads_of_step() % loads == 0;
  if (!is_full) text_.line("if ({} < {})", load_text(of), of.loads_of_step());
  text_.line(
      "{}load_words(&right[load * 4], more_weights_{} + (unsigned)(((warp * {} + at - {}) * {} + "
      "{}) * 32 + lane) * 16u);",
      is_full ? "" : "  ", of.name(), of.steps_of_warp - of.in_registers, of.in_registers,
      of.loads_of_step(), load_text(of));
  text_.close();
}

/// In a cluster: the sums of a split's terms, whose left fragments are in shared memory.
void CountedProductText::multiply_by_fma(size_t p, std::string_view into) {
  const CountedProduct& of = product(p);
  const bool is_partial = of.steps_of_warp * of.lanes.splits() > of.steps;
  const auto steps = [&](int begin, int end, Right right) {
    if (begin == end) return;
    text_.line("#pragma unroll{}", right == Right::in_registers ? "" : " 2");
    text_.open("for (int at = {}; at < {}; ++at)", begin, end);
    text_.line("const int step = {}at;", first_step_text(of));
    if (is_partial) text_.open("if (step < {})", of.steps);
    step_of_fma(of,
                fmt::format("operand + (unsigned)((row_tile * {} + step) * 32) * {}u", of.steps,
                            of.left_bytes()),
                right);
    if (is_partial) text_.close();
    text_.close();
  };
  open_columns_of_fma(of);
  steps(0, of.in_registers, Right::in_registers);
  steps(of.in_registers, of.steps_of_warp, Right::in_shared);
  close_columns_of_fma(of, fmt::format("{}_{}", into, p));
}

/// The same of terms that come through memory: a warp keeps the words of some steps in shared
/// memory while it multiplies by them, and those of the next ones are on their way.
void CountedProductText::multiply_terms_by_fma(size_t p) {
  const CountedProduct& of = product(p);
  const int ahead = of.steps_ahead(), batches = (of.steps_of_warp + ahead - 1) / ahead;
  const int unrolled = (of.in_registers + ahead - 1) / ahead;
  text_.line("const unsigned staged = in_shared + {}u + (unsigned)warp * {}u;", 4 * of.ahead_at,
             4 * of.ahead_words);
  open_columns_of_fma(of);
  text_.line("unsigned ahead[{}][{}];", ahead, of.left_words());
  load_ahead(p, "0", "ahead");
  const auto turns = [&](int begin, int end, Right right) {
    if (begin >= end) return;
    text_.line("#pragma unroll{}", right == Right::in_shared ? " 1" : "");
    text_.open("for (int batch = {}; batch < {}; ++batch)", begin, end);
    batch_of_fma(p, right);
    text_.close();
  };
  turns(0, unrolled, of.in_registers < of.steps_of_warp ? Right::either : Right::in_registers);
  turns(unrolled, batches, Right::in_shared);
  close_columns_of_fma(of, fmt::format("partial_{}", p));
}

void CountedProductText::batch_of_fma(size_t p, Right right) {
  const CountedProduct& of = product(p);
  const int ahead = of.steps_ahead();
  text_.line("#pragma unroll");
  text_.open("for (int more = 0; more < {}; ++more)", ahead);
  if (of.steps_of_warp % ahead != 0)
    text_.line("if (batch * {} + more < {})", ahead, of.steps_of_warp);
  text_.line("  store_{}words(staged + (unsigned)(more * 32 + lane) * {}u, ahead[more]);",
             of.rows_of_lane == 1 ? "two_" : "", of.left_bytes());
  text_.close();
  text_.line("__syncwarp(0xffffffffu);");
  if (of.steps_of_warp > ahead) load_ahead(p, "(batch + 1)", "ahead");
  text_.line("#pragma unroll{}", right == Right::in_shared ? " 2" : "");
  text_.open("for (int more = 0; more < {}; ++more)", ahead);
  text_.line("const int at = batch * {} + more;", ahead);
  if (of.steps_of_warp % ahead != 0)
    text_.open("if (at < {})", of.steps_of_warp);
  else
    text_.open_block();
  open_step_from_memory(of);
  step_of_fma(of, fmt::format("staged + (unsigned)more * {}u", 32 * of.left_bytes()), right);
  for (int i = 0; i < 3; ++i) text_.close();
  text_.line("// Words of the next steps lie where others may still read.");
  text_.line("__syncwarp(0xffffffffu);");
}

}  // namespace graphc::core::cuda::internal
