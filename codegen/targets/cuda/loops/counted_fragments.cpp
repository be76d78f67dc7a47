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

/// Word `half` of a fragment's pair for a column or a row: of two 16-bit terms of strip `half`, or
/// of one term. All numbers of a turn are loaded before the first is used, so that a lane waits
/// once: into `numbers`, as memory has them, also those that are not there.
class FragmentWord {
 public:
  FragmentWord(const CountedProduct& product, Factors factors) : product_(product) {
    const bool is_pair = product.strips_of_step() == 2;
    rounded_ = factors == Factors::split_tf32 ? "__float_as_uint" : mma_form(factors).rounded;
    strip_ = is_pair ? "step * 2 + half" : "step";
    places_ = is_pair ? std::vector<std::string>{"in_group * 2", "in_group * 2 + 1"}
                      : std::vector<std::string>{"in_group * 2 + half"};
  }

  void declare(TextWriter& text, DType dtype, int words) const {
    text.line("{} numbers[{}];", stored_type_text(dtype), words * int(places_.size()));
  }
  /// Loads the numbers of word `more`; `number` gives the text of one, given that of its term.
  template <typename Number>
  void load(TextWriter& text, const Number& number) const {
    for (size_t i = 0; i < places_.size(); ++i) {
      bring_term(text, i);
      text.line("{} = {};", loaded(i), number(fmt::format("max(term_{}, 0)", i)));
    }
  }
  /// The text of the word, which has zeros for terms that are none. Brings terms into scope. Rows
  /// and columns that are not there have other ones' numbers: nobody uses their sums.
  std::string packed(TextWriter& text, DType dtype) const {
    std::vector<std::string> values;
    for (size_t i = 0; i < places_.size(); ++i) {
      bring_term(text, i);
      values.push_back(fmt::format("term_{} >= 0 ? {} : 0.0f", i, loaded_text(dtype, loaded(i))));
    }
    return fmt::format("{}({})", rounded_, fmt::join(values, ", "));
  }

 private:
  std::string loaded(size_t i) const {
    return places_.size() == 1 ? "numbers[more]" : fmt::format("numbers[more * 2 + {}]", i);
  }
  void bring_term(TextWriter& text, size_t i) const {
    // Of its own strips a block knows the number among its own.
    const std::string where = product_.scatters ? fmt::format("rank, {}", strip_)
                                                : fmt::format("({0}) / {1}, ({0}) % {1}", strip_,
                                                              product_.strips_of_block);
    text.line("const int term_{} = term_of_{}({}, {});", i, product_.name(), where, places_[i]);
  }

  const CountedProduct& product_;
  std::string_view rounded_;
  std::string strip_;
  std::vector<std::string> places_;
};

/// Brings the column of a `word` of a lane's right fragments into scope; 0 where there is none.
void write_right_column(TextWriter& text, const CountedLoop& loop, const CountedProduct& product,
                        std::string_view index_type) {
  const CountedNest& lanes = product.lanes;
  const int tiles = lanes.tiles_of_warp;
  const std::string tile = fmt::format("{}{}", unit_tile_text(lanes),
                                       tiles == 1 ? "" : fmt::format(" + word / 2 % {}", tiles));
  if (product.scatters) {
    const int of_block = loop.nests[product.nest].unit_tiles;
    text.line("const int tile = {0}, unit = tile % {1} * {2} + group;", tile, of_block, kUnits);
    text.line("const long long wanted = tile / {} * {} + unit;", of_block, product.units_of_block);
    text.line("const bool column_there = tile < {} && unit < {} && wanted < columns;",
              lanes.unit_tiles, product.units_of_block);
  } else {
    text.line("const long long wanted = column_begin + ({}) * {} + group;", tile, kUnits);
    text.line("const bool column_there = wanted < column_end;");
  }
  text.line("const {0} column = column_there ? ({0})wanted : 0;", index_type);
}

/// The condition under which a warp has right fragments, behind others; empty: always.
std::string when_busy(const CountedProduct& product) {
  return product.busy_warps() == kCountedWarps ? std::string()
                                               : fmt::format(" && warp < {}", product.busy_warps());
}

/// Writes the right fragments of steps `begin` to `end` of a warp into shared memory, `ready`, as
/// lanes load them.
void write_ready_fragments(TextWriter& text, const CountedLoop& loop, const CountedProduct& product,
                           const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form) {
  const int p = int(product.product);
  const NestProduct& of = program.products[product.product];
  const NestBody body(program, parameters);
  const int words = 4 * product.loads_of_step();
  const int steps = product.steps_filled_together();
  text.line("#pragma unroll 1");
  text.open("for (int first_at = begin; first_at < end; first_at += {})", steps);
  const FragmentWord word(product, of.factors);
  word.declare(text, of.right, steps * words);
  // A packed matrix that blocks of a cluster hold has fewer elements than 31 bits count. With 64 an
  // address takes so many registers that the derivative of a GRU (H 650, bf16) spills.
  const std::string_view index_type = form.panel_widths[size_t(p)] > 0 ? "int" : "long long";
  const auto open_words = [&] {
    text.line("#pragma unroll");
    text.open("for (int more = 0; more < {}; ++more)", steps * words);
    text.line("const int at = first_at + more / {0}, word = more % {0};", words);
    text.line("const int half = word % 2, step = {}at;", first_step_text(product));
  };
  open_words();
  write_right_column(text, loop, product, index_type);
  text.line("const int at_part = word / {} % {};", 2 * product.lanes.tiles_of_warp, of.parts);
  word.load(text, [&](const std::string& term) {
    const std::string index = right_index(program, form, body, p, "at_part", "(long long)" + term);
    return fmt::format("{}[({})({})]", body.name_of(ParameterKind::right, p), index_type, index);
  });
  text.close();
  open_words();
  text.line("const unsigned packed = {};", word.packed(text, of.right));
  text.line("if (at < end{})", when_busy(product));
  text.line(
      "  ready[(((warp * (end - begin) + at - begin) * {} + word / 4) * 32 + lane) * 4 + word % 4] "
      "= {};",
      product.loads_of_step(),
      product.words_of_step < words ? fmt::format("word < {} ? packed : 0u", product.words_of_step)
                                    : "packed");
  text.close();
  text.close();
}

/// Whether so many staged steps of a product reach into the memory of one that is staged later.
bool reaches_others(const CountedLoop& loop, const CountedProduct& product, int steps) {
  const int64_t end = product.operand_at + steps * product.staged_words_of_step();
  return std::ranges::any_of(loop.products, [&](const CountedProduct& other) {
    return other.operand_at > product.operand_at && other.operand_at < end;
  });
}

/// Takes the steps of a turn of write_right_fragments() to registers.
void write_registers(TextWriter& text, const CountedProduct& product, int turn, int first,
                     int count) {
  text.open("if (turn == {}{})", turn, when_busy(product));
  text.line("#pragma unroll");
  text.open("for (int word = 0; word < {}; ++word)", product.words_of_step);
  text.line("#pragma unroll");
  text.open("for (int at = 0; at < {}; ++at)", count);
  text.line("weights_{}[{}at][word] =", product.name(),
            first == 0 ? std::string() : fmt::format("{} + ", first));
  text.line("    ready[(((warp * {} + at) * {} + word / 4) * 32 + lane) * 4 + word % 4];", count,
            product.loads_of_step());
  for (int i = 0; i < 3; ++i) text.close();
}

}  // namespace

void write_right_fragments(TextWriter& text, const CountedLoop& loop, const CountedProduct& product,
                           const NestProgram& program, const std::vector<Parameter>& parameters,
                           const NestForm& form) {
  const int registers = product.in_registers, most = loop.steps_staged(product);
  const int turns = (registers + most - 1) / most;
  const bool has_others = product.steps_of_warp > registers;
  const bool is_overwritten = turns + int(has_others) > 1 || product.begins_with_left() ||
                              reaches_others(loop, product, std::min(registers, most));
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
  text.line("unsigned* ready = (unsigned*)&shared[turn < {} ? {} : {}];", turns, product.operand_at,
            product.weights_at);
  write_ready_fragments(text, loop, product, program, parameters, form);
  if (registers > 0) {
    for (int turn = 0; turn < turns; ++turn)
      write_registers(text, product, turn, turn * most, std::min(most, registers - turn * most));
    if (is_overwritten) text.line("__syncthreads();");
  }
  text.close();
}

void write_left_fragments(TextWriter& text, const CountedProduct& product,
                          const NestProgram& program, const std::vector<Parameter>& parameters) {
  const int p = int(product.product);
  const NestProduct& of = program.products[product.product];
  if (!product.begins_with_left()) return;
  text.line("unsigned* copies = (unsigned*)&shared[{}];", product.operand_at);
  if (!product.next_step) {
    text.open("for (int at = threadIdx.x; at < {}; at += 256)", 2 * product.operand_words);
    text.line("copies[at] = 0u;");
    return text.close();
  }
  const NestBody body(program, parameters);
  const FragmentWord word(product, of.factors);
  text.line("#pragma unroll 1");
  text.open("for (int first_turn = 0; first_turn < {}; first_turn += {})", product.left_turns(),
            kLeftFilledTogether);
  word.declare(text, of.left, kLeftFilledTogether);
  // A lane's words: its rows, g and perhaps g + 8, of one strip or term, then of the next.
  const int rows = product.rows_of_lane, words = product.left_words();
  const auto open_words = [&] {
    text.line("#pragma unroll");
    text.open("for (int more = 0; more < {}; ++more)", kLeftFilledTogether);
    text.line("const int at = (first_turn + more) * {} + (int)threadIdx.x;", 32 * kCountedWarps);
    text.line("const int half = at % {} / {}, step = at / {} % {};", words, rows, 32 * words,
              product.steps);
    text.line("const int in_group = at / {} % 4;", words);
  };
  open_words();
  text.line("const long long wanted = row_begin + at / {} * {} + at % {} * 8 + at / {} % 8;",
            32 * words * product.steps, 8 * rows, rows, 4 * words);
  text.line("const long long row = wanted < row_end ? wanted : 0;");
  word.load(text, [&](std::string_view term) {
    return fmt::format("{}[row * {} + (long long){} * {}]", body.name_of(ParameterKind::left, p),
                       body.name_of(ParameterKind::left_row, p), term,
                       body.name_of(ParameterKind::left_k, p));
  });
  text.close();
  open_words();
  text.line("const unsigned packed = {};", word.packed(text, of.left));
  text.open("if (at < {})", product.operand_words);
  text.line("copies[at] = packed;");
  if (product.has_zero_strip()) text.line("copies[at + {}] = 0u;", product.operand_words);
  for (int i = 0; i < 3; ++i) text.close();
}

}  // namespace graphc::core::cuda::internal
