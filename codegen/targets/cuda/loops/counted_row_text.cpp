// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/counted_row_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "codegen/targets/cuda/loops/counted_text.h"
#include "codegen/targets/cuda/text/scalar_text.h"

namespace graphc::core::cuda::internal {
namespace {

constexpr int kThreads = 32 * kCountedWarps;

/// Opens what the warps do that have elements. In a cluster those of the first split have the only
/// tile of rows; in memory each split has one.
void open_warps_of_elements(TextWriter& text, const CountedLoop& loop, const CountedNest& nest) {
  const bool is_in_memory = loop.through_memory && nest.splits() > 1;
  if (is_in_memory) {
    if (loop.row_tiles < nest.splits())
      text.open("if ({} < {})", split_text(nest), loop.row_tiles);
    else
      text.open_block();
    return text.line("const int row_tile = {};", split_text(nest));
  }
  nest.splits() == 1 ? text.open_block() : text.open("if ({} == 0)", split_text(nest));
  text.line("const int row_tile = 0;");
}

void open_rows(TextWriter& text, const CountedLoop& loop) {
  text.line("#pragma unroll");
  text.open("for (int at_row = 0; at_row < {}; ++at_row)", loop.rows_of_lane);
}

void define_row(TextWriter& text, const CountedLoop& loop) {
  text.line("const {0} row = ({0})row_begin + row_tile * {1} + at_row * 8 + group;",
            loop.index_type, loop.tile_rows());
}

/// Opens what one lane of all blocks does for a row.
void open_lane_of_row(TextWriter& text, const CountedNest& nest) {
  text.open("if (row < row_end && rank == 0 && {} == 0 && in_group == 0)", warp_of_tile(nest));
}

}  // namespace

std::string warp_of_tile(const CountedNest& nest) {
  return nest.warps == kCountedWarps ? "warp" : fmt::format("warp % {}", nest.warps);
}

std::string number_name(const RowNumber& number) {
  return fmt::format("number_{}_{}", number.nest, number.made);
}

void write_number_registers(TextWriter& text, const CountedLoop& loop) {
  for (const RowNumber& number : loop.rows.numbers)
    text.line("float {}[{}];", number_name(number), loop.rows_of_lane);
}

void hold_numbers(NestBody& body, const RowNumbers& rows, size_t nest) {
  for (const RowLoad& load : rows.loads) {
    if (load.nest == nest)
      body.hold_number(load.load, number_name(rows.numbers[load.from]) + "[at_row]");
  }
  for (const RowNumber& number : rows.numbers) {
    if (number.nest == nest && rows.is_of_rows[nest])
      body.hold_number(number.made, number_name(number) + "[at_row]");
  }
  if (const RowExchange* exchange = rows.exchange_of(nest)) {
    for (size_t i = 0; i < exchange->squares.size(); ++i)
      body.keep_values(exchange->squares[i].of, CountedRowText::summed_name(i));
  }
}

const Reduction& CountedRowText::reduction_of(const RowNumber& number) const {
  return *std::ranges::find(body_.reductions(), number.operand, &Reduction::operand);
}

template <typename Write>
void CountedRowText::each_number(const Write& write) const {
  for (size_t i = 0; i < exchange_->sums.size(); ++i) write(number(exchange_->sums[i]), int(i));
  const int first = exchange_->first_of_maxima() * exchange_->words;
  for (size_t i = 0; i < exchange_->maxima.size(); ++i)
    write(number(exchange_->maxima[i]), first + int(i));
}

Reduction CountedRowText::kind_of(int chunk) const {
  Reduction kind;
  kind.maximum = chunk >= exchange_->first_of_maxima() && chunk < exchange_->first_of_squares();
  return kind;
}

void CountedRowText::declare(TextWriter& text) const {
  text.line("float partial_rows[{}][{}] = {{}};", exchange_->width(), loop_.rows_of_lane);
  for (size_t i = 0; i < exchange_->squares.size(); ++i)
    text.line("float {}[{}][{}];", summed_name(i), loop_.rows_of_lane, 2 * nest_.tiles_of_warp);
}

std::string CountedRowText::summed_name(size_t square) {
  return fmt::format("partial_values_{}", square);
}

void CountedRowText::begin_row(TextWriter& text) const {
  each_number([&](const RowNumber& number, int) {
    const Reduction& reduction = reduction_of(number);
    text.line("float {} = {};", reduction.name, reduction.identity());
  });
}

void CountedRowText::end_row(TextWriter& text) const {
  each_number([&](const RowNumber& number, int word) {
    text.line("partial_rows[{}][at_row] = {};", word, reduction_of(number).name);
  });
}

/// Lets the four lanes of a row have what all of them have.
void CountedRowText::meet(TextWriter& text, const std::string& mine,
                          const Reduction& reduction) const {
  for (const int lanes : {2, 1})
    text.line(
        "{} = {};", mine,
        reduction.join(mine, fmt::format("__shfl_xor_sync(0xffffffffu, {}, {})", mine, lanes)));
}

void CountedRowText::give(TextWriter& text) const {
  text.line("// The four lanes of a row meet.");
  open_rows(text, loop_);
  each_number([&](const RowNumber& number, int word) {
    meet(text, fmt::format("partial_rows[{}][at_row]", word), reduction_of(number));
  });
  if (!exchange_->squares.empty()) {
    count_of_warp(text, warp_of_tile(nest_));
    text.line("const float one_over_count = one_over(count);");
  }
  const int words = exchange_->words;
  for (size_t i = 0; i < exchange_->squares.size(); ++i) {
    const int word = exchange_->first_of_squares() * words + int(i);
    text.open_block();
    text.line("const float mean = partial_rows[{}][at_row] * one_over_count;", i);
    text.line("#pragma unroll");
    text.open("for (int at_column = 0; at_column < {}; ++at_column)", 2 * nest_.tiles_of_warp);
    text.line("const float apart = {}[at_row][at_column] - mean;", summed_name(i));
    text.line("if (first_column + at_column / 2 * {} + at_column % 2 < column_end)", kUnits);
    text.line("  partial_rows[{0}][at_row] = partial_rows[{0}][at_row] + apart * apart;", word);
    text.close();
    text.close();
    meet(text, fmt::format("partial_rows[{}][at_row]", word), kind_of(exchange_->chunks() - 1));
  }
  text.open("if (in_group == 0)");
  for (int chunk = 0; chunk < exchange_->chunks(); ++chunk) {
    text.open_block();
    text.line("const int at = {} + (({}{}) * {} + {} + at_row * 8 + group) * {};",
              exchange_->of_warps_at, warps_before("row_tile"), warp_of_tile(nest_), places(),
              chunk * loop_.tile_rows(), words);
    for (int word = 0; word < words; ++word)
      text.line("shared[at + {}] = partial_rows[{}][at_row];", word, chunk * words + word);
    text.close();
  }
  text.close();
  text.close();
}

/// What the warps have of a place, in `row_sums`.
void CountedRowText::join_place(TextWriter& text) const {
  text.line("float row_sums[{}];", exchange_->words);
  if (exchange_->squares.empty()) return join_warps(text);
  text.open("if (place < {})", exchange_->first_of_squares() * loop_.tile_rows());
  join_warps(text);
  text.close();
  text.open("else");
  add_squares_of_warps(text);
  text.close();
}

void CountedRowText::send(TextWriter& text) const {
  const int of_all = loop_.through_memory ? loop_.row_tiles : loop_.blocks;
  const int items = places() * of_all;
  text.line("__syncthreads();");
  text.line("// To {} what this one has of each row.", loop_.through_memory ? "all" : "each block");
  text.open_block();
  if (!loop_.through_memory)
    text.line("const unsigned counter = in_shared + {}u + (unsigned)(iteration % 2) * 8u;",
              loop_.counter_of(*exchange_));
  write_inbox(text);
  text.line("#pragma unroll");
  text.open("for (int first = 0; first < {}; first += {})", items, kThreads);
  text.line("const int at = first + (int)threadIdx.x;");
  if (items % kThreads != 0) text.open("if (at < {})", items);
  text.line("const int {0} = at / {1}, place = at % {1};", loop_.through_memory ? "tile" : "to",
            places());
  join_place(text);
  std::vector<std::string> sums;
  for (int word = 0; word < exchange_->words; ++word)
    sums.push_back(loop_.through_memory ? fmt::format("__float_as_uint(row_sums[{}])", word)
                                        : fmt::format("row_sums[{}]", word));
  if (loop_.through_memory)
    text.line("put_{}(inbox + ((rank * {} + tile) * {} + place) * {},", exchange_->words,
              loop_.row_tiles, places(), exchange_->words);
  else
    text.line("send_{}_sums(inbox + (unsigned)((rank * {} + place) * {}), counter, (unsigned)to,",
              exchange_->words, places(), 4 * exchange_->words);
  text.line("            {});", fmt::join(sums, ", "));
  if (items % kThreads != 0) text.close();
  text.close();
  text.close();
}

void CountedRowText::write_inbox(TextWriter& text) const {
  if (loop_.through_memory)
    return text.line("unsigned* inbox = numbers_of_rows + {} + (int)(iteration % 2) * {};",
                     exchange_->inbox_at,
                     exchange_->words * places() * loop_.row_tiles * loop_.blocks);
  text.line("const unsigned inbox = in_shared + {}u + (unsigned)(iteration % 2) * {}u;",
            4 * exchange_->inbox_at, 4 * exchange_->words * places() * loop_.blocks);
}

void CountedRowText::take(TextWriter& text, const std::string& meeting) const {
  if (loop_.through_memory) text.lines(meeting);
  text.line("// What all blocks have of each row, in a fixed order.");
  open_warps_of_elements(text, loop_, nest_);
  if (!loop_.through_memory) {
    text.line("await_bytes(in_shared + {}u + (unsigned)(iteration % 2) * 8u,",
              loop_.counter_of(*exchange_));
    text.line("            (unsigned)(iteration / 2 % 2), {}u);", loop_.bytes_of(*exchange_));
  }
  write_inbox(text);
  open_rows(text, loop_);
  join_blocks(text);
  if (!exchange_->squares.empty()) add_squares_of_blocks(text);
  const auto set = [&](const RowNumber& number, int word) {
    text.line("{}[at_row] = row_sums[{}];", number_name(number), word);
  };
  each_number(set);
  for (size_t i = 0; i < exchange_->squares.size(); ++i)
    set(number(exchange_->squares[i].number),
        exchange_->first_of_squares() * exchange_->words + int(i));
  bool is_in_memory = false;
  each_number([&](const RowNumber& number, int) { is_in_memory |= number.in_memory; });
  if (is_in_memory) {
    define_row(text, loop_);
    open_lane_of_row(text, nest_);
    each_number([&](const RowNumber& number, int word) {
      if (number.in_memory)
        body_.write_result(text, reduction_of(number), fmt::format("row_sums[{}]", word));
    });
    text.close();
  }
  text.close();
  text.close();
}

std::string row_nest_text(const CountedLoop& loop, size_t nest, const NestProgram& program,
                          const std::vector<Parameter>& parameters) {
  TextWriter text(1);
  NestBody body(program, parameters);
  hold_numbers(body, loop.rows, nest);
  text.line("// Every lane for its rows.");
  open_warps_of_elements(text, loop, loop.nests[nest]);
  open_rows(text, loop);
  define_row(text, loop);
  text.line("const {} column = 0;", loop.index_type);
  for (const Level level : {Level::once, Level::row, Level::element})
    body.write(text, level, "row < row_end");
  const auto is_stored = [&](const RowNumber& number) {
    return number.nest == nest && number.in_memory;
  };
  if (std::ranges::any_of(loop.rows.numbers, is_stored)) {
    open_lane_of_row(text, loop.nests[nest]);
    for (const RowNumber& number : loop.rows.numbers) {
      if (is_stored(number)) body.store_number(text, number.made);
    }
    text.close();
  }
  text.close();
  text.close();
  return text.text();
}

}  // namespace graphc::core::cuda::internal
