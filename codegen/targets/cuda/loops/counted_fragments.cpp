// SPDX-License-Identifier: Apache-2.0
// How the fragments of a counted loop's matrices and first left operands come from memory.
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "codegen/targets/cuda/loops/counted_product.h"
#include "codegen/targets/cuda/loops/counted_text.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/operand_text.h"
#include "codegen/targets/cuda/text/scalar_text.h"

namespace graphc::core::cuda::internal {
namespace {

/// The terms of a step whose numbers a lane's words of a row or column have: two of each strip.
int terms_of_lane(const CountedProduct& product) { return 2 * product.strips_of_step(); }

/// The call that gives a term of `step`: number `place` of the two of strip `half` that a lane of
/// the number `lane` has.
std::string term_text(const CountedProduct& product, std::string_view lane, std::string_view half,
                      std::string_view place) {
  // Of its own strips a block knows the number among its own.
  const std::string strip =
      product.strips_of_step() == 2 ? fmt::format("step * 2 + {}", half) : "step";
  const std::string where =
      product.scatters ? fmt::format("rank, {}", strip)
                       : fmt::format("({0}) / {1}, ({0}) % {1}", strip, product.strips_of_block);
  return fmt::format("term_of_{}({}, {} * 2 + {})", product.name(), where, lane, place);
}

/// A word of a fragment: two 16-bit numbers, or one.
class FragmentWord {
 public:
  FragmentWord(const CountedProduct& product, Factors factors, DType dtype)
      : numbers_(product.strips_of_step()), rounded_(word_function(factors)), dtype_(dtype) {}

  /// How many numbers it has.
  int numbers() const { return numbers_; }
  /// The text of the word whose numbers, as memory has them, and their terms are the elements of
  /// `numbers` and `lane_terms` from these ones on. Where there is no term, it has zeros. Rows and
  /// columns that are not there have other ones' numbers: nobody uses their sums.
  std::string text(std::string_view number, std::string_view term) const {
    std::vector<std::string> values;
    for (int i = 0; i < numbers_; ++i)
      values.push_back(
          fmt::format("lane_terms[{} + {}] >= 0 ? {} : 0.0f", term, i,
                      loaded_text(dtype_, fmt::format("numbers[{} + {}]", number, i))));
    return fmt::format("{}({})", rounded_, fmt::join(values, ", "));
  }

 private:
  int numbers_;
  std::string_view rounded_;
  DType dtype_;
};

/// The right operand of a product and the type of its elements' indices.
struct RightOperand {
  const NestProgram& program;
  const NestForm& form;
  const NestBody& body;
  std::string_view index_type;
};

/// Brings the column of a lane's unit tile `each` into scope; 0 where there is none.
void write_right_column(TextWriter& text, const CountedLoop& loop, const CountedProduct& product,
                        std::string_view index_type) {
  const CountedNest& lanes = product.lanes;
  const int tiles = lanes.tiles_of_warp;
  const std::string tile = fmt::format("{}{}", unit_tile_text(lanes),
                                       tiles == 1 ? "" : fmt::format(" + each % {}", tiles));
  if (product.scatters) {
    const int of_block = loop.nests[product.nest].unit_tiles;
    text.line("const int tile = {0}, unit = tile % {1} * {2} + {3};", tile, of_block, kUnits,
              column_lane_text(product));
    text.line("const long long wanted = tile / {} * {} + unit;", of_block, product.units_of_block);
    text.line("const bool column_there = tile < {} && unit < {} && wanted < columns;",
              lanes.unit_tiles, product.units_of_block);
  } else {
    text.line("const long long wanted = column_begin + ({}) * {} + {};", tile, kUnits,
              column_lane_text(product));
    text.line("const bool column_there = wanted < column_end;");
  }
  text.line("const {0} column = column_there ? ({0})wanted : 0;", index_type);
}

/// The condition under which a warp has right fragments, behind others; empty: always.
std::string when_busy(const CountedProduct& product) {
  return product.busy_warps() == kCountedWarps ? std::string()
                                               : fmt::format(" && warp < {}", product.busy_warps());
}

/// Brings into scope where the columns of a lane's right fragments begin, of each part and tile.
void write_places(TextWriter& text, const CountedLoop& loop, const CountedProduct& product,
                  const RightOperand& right) {
  const int tiles = product.lanes.tiles_of_warp;
  text.line("{} places[{}];", right.index_type, product.words_of_step / 2);
  text.line("#pragma unroll");
  text.open("for (int each = 0; each < {}; ++each)", product.words_of_step / 2);
  write_right_column(text, loop, product, right.index_type);
  text.line("places[each] = ({})({});", right.index_type,
            right_index(right.program, right.form, right.body, int(product.product),
                        fmt::format("(each / {})", tiles), "0LL"));
  text.close();
}

/// Writes the right fragments of steps `begin` to `end` of a warp into shared memory, from the
/// address `ready` on, as lanes load them. A lane loads the numbers of some steps, as memory has
/// them, before it uses the first, so that it waits once.
void write_ready_fragments(TextWriter& text, const CountedProduct& product,
                           const RightOperand& right) {
  const int p = int(product.product), of_lane = terms_of_lane(product);
  const NestProduct& of = right.program.products[product.product];
  const int columns = product.words_of_step / 2, loads = product.loads_of_step();
  const int steps = product.steps_filled_together();
  const FragmentWord word(product, of.factors, of.right);
  const auto open_each = [&](std::string_view name, int count) {
    text.line("#pragma unroll");
    text.open("for (int {0} = 0; {0} < {1}; ++{0})", name, count);
  };
  text.line("#pragma unroll 1");
  text.open("for (int first_at = begin; first_at < end; first_at += {})", steps);
  text.line("{} numbers[{}];", stored_type_text(of.right), steps * columns * of_lane);
  text.line("int lane_terms[{}];", steps * of_lane);
  open_each("each", steps * of_lane);
  text.line("const int step = {}first_at + each / {};", first_step_text(product), of_lane);
  text.line("lane_terms[each] = {};",
            term_text(product, terms_lane_text(product), "each / 2 % 2", "each % 2"));
  text.close();
  open_each("each", steps * columns);
  open_each("more", of_lane);
  text.line("const {} term = max(lane_terms[each / {} * {} + more], 0);", right.index_type, columns,
            of_lane);
  text.line("numbers[each * {} + more] = {}[places[each % {}] + term * {}];", of_lane,
            right.body.name_of(ParameterKind::right, p), columns,
            right_term_stride(right.program, right.form, right.body, p));
  text.close();
  text.close();
  open_each("each", steps * loads);
  text.line("const int at = first_at + each / {0}, load = each % {0};", loads);
  text.line("unsigned words[4];");
  open_each("more", 4);
  text.line("const int word = load * 4 + more;");
  const bool is_full = product.words_of_step == 4 * loads;
  const std::string packed =
      word.text(fmt::format("each / {} * {} + word * {}", loads, columns * of_lane, word.numbers()),
                fmt::format("each / {} * {} + word % 2 * {}", loads, of_lane, word.numbers()));
  text.line("words[more] = {};",
            is_full ? packed : fmt::format("word < {} ? {} : 0u", product.words_of_step, packed));
  text.close();
  text.line("if (at < end{})", when_busy(product));
  text.line(
      "  store_words(ready + (unsigned)(((warp * (end - begin) + at - begin) * {} + load) * "
      "32 + lane) * 16u, words);",
      loads);
  text.close();
  text.close();
}

/// How many steps of a warp the first turn of write_right_fragments() stages.
int steps_of_first_turn(const CountedLoop& loop, const CountedProduct& product) {
  return product.in_registers > 0 ? std::min(product.in_registers, loop.steps_staged(product))
                                  : product.steps_of_warp;
}

/// Whether the first staged steps of a product reach into the memory where other lanes stage those
/// of a later one.
bool reaches_others(const CountedLoop& loop, const CountedProduct& product) {
  const int steps = steps_of_first_turn(loop, product);
  const int64_t end = product.staged_at + steps * product.staged_words_of_step();
  return std::ranges::any_of(loop.products, [&](const CountedProduct& other) {
    const bool has_same_lanes =
        other.staged_at == product.staged_at &&
        steps_of_first_turn(loop, other) * other.loads_of_step() == steps * product.loads_of_step();
    return &other > &product && other.staged_at < end && !has_same_lanes;
  });
}

/// Takes the steps of a turn of write_right_fragments() to registers.
void write_registers(TextWriter& text, const CountedProduct& product, int turn, int first,
                     int count) {
  const int loads = product.loads_of_step();
  text.open("if (turn == {}{})", turn, when_busy(product));
  text.line("#pragma unroll");
  text.open("for (int each = 0; each < {}; ++each)", count * loads);
  text.line("const int at = each / {0}, load = each % {0};", loads);
  const std::string weights = fmt::format("weights_{}[{}at]", product.name(),
                                          first == 0 ? std::string() : fmt::format("{} + ", first));
  const bool is_full = product.words_of_step == 4 * loads;
  if (!is_full) text.line("unsigned words[4];");
  text.line("load_words({},", is_full ? fmt::format("&{}[load * 4]", weights) : "words");
  text.line("           ready + (unsigned)(((warp * {} + at) * {} + load) * 32 + lane) * 16u);",
            count, loads);
  if (!is_full) {
    text.line("#pragma unroll");
    text.open("for (int more = 0; more < 4; ++more)");
    const std::string_view word = loads == 1 ? "more" : "load * 4 + more";
    text.line("if ({} < {})", word, product.words_of_step);
    text.line("  {}[{}] = words[more];", weights, word);
    text.close();
  }
  text.close();
  text.close();
}

}  // namespace

void write_right_fragments(TextWriter& text, const CountedLoop& loop, const CountedProduct& product,
                           const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form) {
  const int registers = product.in_registers, most = loop.steps_staged(product);
  const int turns = (registers + most - 1) / most;
  const bool has_others = product.steps_of_warp > registers;
  const bool is_overwritten = turns + int(has_others) > 1 ||
                              (product.begins_with_left() && !loop.through_memory) ||
                              reaches_others(loop, product);
  const NestBody body(program, parameters);
  // A packed matrix that blocks hold has fewer elements than 31 bits count. With 64 an address
  // takes so many registers that the derivative of a GRU (H 650, bf16) spills.
  const bool is_packed = form.panel_widths[product.product] > 0;
  const RightOperand right{program, form, body, is_packed ? "int" : "long long"};
  write_places(text, loop, product, right);
  text.line(
      "// Right fragments: in turns to registers by way of shared memory, since those have no");
  text.line("// computed index, then those that stay there.");
  text.line("#pragma unroll");
  text.open("for (int turn = 0; turn < {}; ++turn)", turns + int(has_others));
  text.line("const int begin = turn < {0} ? turn * {1} : {2};", turns, most, registers);
  text.line(
      "const int last = turn < {} ? {} : {}, end = turn < {} && begin + {} < last ? begin + "
      "{} : last;",
      turns, registers, product.steps_of_warp, turns, most, most);
  text.line("const unsigned ready = in_shared + (turn < {} ? {}u : {}u);", turns,
            4 * product.staged_at, 4 * product.weights_at);
  write_ready_fragments(text, product, right);
  if (registers > 0) {
    for (int turn = 0; turn < turns; ++turn)
      write_registers(text, product, turn, turn * most, std::min(most, registers - turn * most));
    if (is_overwritten) text.line("__syncthreads();");
  }
  text.close();
}

void write_left_fragments(TextWriter& text, const CountedLoop& loop, const CountedProduct& product,
                          const NestProgram& program, const std::vector<Parameter>& parameters) {
  const int p = int(product.product);
  const NestProduct& of = program.products[product.product];
  if (!product.begins_with_left()) return;
  constexpr int kThreads = 32 * kCountedWarps;
  const int threads = kThreads * (loop.through_memory ? loop.blocks : 1);
  const std::string thread = loop.through_memory
                                 ? fmt::format("rank * {} + (int)threadIdx.x", kThreads)
                                 : "(int)threadIdx.x";
  text.line("unsigned* copies = {};",
            loop.through_memory ? "operand_" + product.name()
                                : fmt::format("(unsigned*)&shared[{}]", product.operand_at));
  if (!product.next_step) {
    text.open("for (int at = {}; at < {}; at += {})", thread,
              product.copies * product.operand_words, threads);
    text.line("copies[at] = 0u;");
    return text.close();
  }
  const NestBody body(program, parameters);
  const FragmentWord word(product, of.factors, of.left);
  const int numbers = word.numbers();
  text.line("#pragma unroll 1");
  text.open("for (int first_turn = 0; first_turn < {}; first_turn += {})", loop.left_turns(product),
            kLeftFilledTogether);
  text.line("{} numbers[{}];", stored_type_text(of.left), kLeftFilledTogether * numbers);
  text.line("int lane_terms[{}];", kLeftFilledTogether * numbers);
  // A lane's words: its rows, g and perhaps g + 8, of one strip or term, then of the next.
  const int rows = product.rows_of_lane, words = product.left_words();
  const auto open_words = [&] {
    text.line("#pragma unroll");
    text.open("for (int more = 0; more < {}; ++more)", kLeftFilledTogether);
    text.line("const int at = (first_turn + more) * {} + {};", threads, thread);
  };
  open_words();
  text.line("const int half = at % {} / {}, step = at / {} % {};", words, rows, 32 * words,
            product.steps);
  text.line("const int in_group = at / {} % 4;", words);
  text.line("const long long wanted = row_begin + at / {} * {} + at % {} * 8 + at / {} % 8;",
            32 * words * product.steps, 8 * rows, rows, 4 * words);
  // Of rows that are not there one of the block's own: others may store theirs already.
  text.line(
      "const long long row = wanted < row_end ? wanted : row_begin < row_end ? row_begin : 0;");
  for (int i = 0; i < numbers; ++i) {
    const std::string at = fmt::format("more * {} + {}", numbers, i);
    text.line("lane_terms[{}] = {};", at,
              term_text(product, "in_group", "half", numbers == 2 ? std::to_string(i) : "half"));
    text.line("numbers[{}] = {}[row * {} + (long long)max(lane_terms[{}], 0) * {}];", at,
              body.name_of(ParameterKind::left, p), body.name_of(ParameterKind::left_row, p), at,
              body.name_of(ParameterKind::left_k, p));
  }
  text.close();
  open_words();
  const std::string first = fmt::format("more * {}", numbers);
  text.line("const unsigned packed = {};", word.text(first, first));
  text.open("if (at < {})", product.operand_words);
  text.line("copies[at] = packed;");
  if (product.has_zero_copy()) text.line("copies[at + {}] = 0u;", product.operand_words);
  for (int i = 0; i < 3; ++i) text.close();
}

}  // namespace graphc::core::cuda::internal
