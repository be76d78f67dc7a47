// SPDX-License-Identifier: Apache-2.0
// How numbers of rows are joined of what warps have, and of what blocks have (counted_row_text.h).
#include <fmt/format.h>

#include "codegen/targets/cuda/loops/counted_row_text.h"

namespace graphc::core::cuda::internal {

/// Declares how many columns a warp of the block has.
void CountedRowText::count_of_warp(TextWriter& text, const std::string& warp) const {
  const int most = nest_.tiles_of_warp * kUnits;
  if (loop_.rows.are_even) return text.line("const int count = {};", most);
  text.line("const int behind = max((int)(column_end - column_begin) - {} * {}, 0);", warp, most);
  text.line("const int count = min(behind, {});", most);
}

/// Declares how many columns a block has.
void CountedRowText::count_of_block(TextWriter& text) const {
  const int64_t most = loop_.rows.columns_of_block;
  if (loop_.rows.are_even) return text.line("const int count = {};", most);
  text.line("const int behind = max({} - from * {}, 0);", loop_.rows.columns, most);
  text.line("const int count = min(behind, {});", most);
}

/// Loads the words of a chunk into an array.
void CountedRowText::load_chunk(TextWriter& text, std::string_view into,
                                const std::string& address) const {
  text.line("unsigned {}[{}];", into, exchange_->words);
  text.line("{}({}, {});", exchange_->words == 4 ? "load_words" : "load_two_words", into, address);
}

/// Adds the squares of a part to those of the whole: in scope are the part's `sums` and `words`,
/// the array `means`, and `count`.
void CountedRowText::add_squares(TextWriter& text, std::string_view into, int first) const {
  text.line("const float one_over_count = one_over(count);");
  text.line("#pragma unroll");
  text.open("for (int word = 0; word < {}; ++word)", exchange_->words);
  text.line("const float apart = __uint_as_float(sums[word]) - (float)count * means[{}word];",
            first == 0 ? std::string() : fmt::format("{} + ", first));
  text.line("{0} = {0} + (__uint_as_float(words[word]) + apart * apart * one_over_count);", into);
  text.close();
}

/// How many warps' words are before those of a copy, and of a tile of rows; with a plus behind.
std::string CountedRowText::warps_before(std::string_view row_tile) const {
  const std::string copy = loop_.through_memory
                               ? std::string()
                               : fmt::format("(int)(iteration % 2) * {} + ", nest_.warps);
  return loop_.row_tiles == 1 ? copy : fmt::format("{}{} * {} + ", copy, row_tile, nest_.warps);
}

/// The address of a chunk that a warp has of a row: `place` counts chunks and rows.
std::string CountedRowText::of_warp(std::string_view warp, std::string_view place) const {
  return fmt::format("in_shared + {}u + (unsigned)((({}{}) * {} + {}) * {})",
                     4 * exchange_->of_warps_at, warps_before("tile"), warp, places(), place,
                     4 * exchange_->words);
}

/// Joins what the warps have of a place.
void CountedRowText::join_warps(TextWriter& text) const {
  const Reduction sum = kind_of(0), last = kind_of(exchange_->first_of_squares() - 1);
  const bool has_both = sum.maximum != last.maximum;
  const auto either = [&](const std::string& of_sum, const std::string& of_maximum) {
    return has_both
               ? fmt::format("place < {} ? {} : {}",
                             exchange_->first_of_maxima() * loop_.tile_rows(), of_sum, of_maximum)
               : of_sum;
  };
  text.line("#pragma unroll");
  text.line("for (int word = 0; word < {}; ++word) row_sums[word] = {};", exchange_->words,
            either(sum.identity(), last.identity()));
  text.line("#pragma unroll");
  text.open("for (int from = 0; from < {}; ++from)", nest_.warps);
  load_chunk(text, "words", of_warp("from", "place"));
  text.line("#pragma unroll");
  const std::string mine = "row_sums[word]", other = "__uint_as_float(words[word])";
  text.line("for (int word = 0; word < {}; ++word) row_sums[word] = {};", exchange_->words,
            either(sum.join(mine, other), last.join(mine, other)));
  text.close();
}

/// Adds the squares that the warps have of a place.
void CountedRowText::add_squares_of_warps(TextWriter& text) const {
  const int words = exchange_->words;
  text.line("const int place_of_sums = place - {};",
            exchange_->first_of_squares() * loop_.tile_rows());
  text.line("float means[{}] = {{}};", words);
  text.line("#pragma unroll");
  text.open("for (int from = 0; from < {}; ++from)", nest_.warps);
  load_chunk(text, "words", of_warp("from", "place_of_sums"));
  text.line("#pragma unroll");
  text.line("for (int word = 0; word < {}; ++word)", words);
  text.line("  means[word] = means[word] + __uint_as_float(words[word]);");
  text.close();
  text.line("const float one_over_all = one_over((int)(column_end - column_begin));");
  text.line("#pragma unroll");
  text.open("for (int word = 0; word < {}; ++word)", words);
  text.line("means[word] = means[word] * one_over_all;");
  text.line("row_sums[word] = 0.0f;");
  text.close();
  text.line("#pragma unroll");
  text.open("for (int from = 0; from < {}; ++from)", nest_.warps);
  load_chunk(text, "sums", of_warp("from", "place_of_sums"));
  load_chunk(text, "words", of_warp("from", "place"));
  count_of_warp(text, "from");
  add_squares(text, "row_sums[word]", 0);
  text.close();
}

/// Loads a chunk of a row that a block has sent.
void CountedRowText::load_of_block(TextWriter& text, std::string_view into, int chunk) const {
  const int at = chunk * loop_.tile_rows();
  if (!loop_.through_memory)
    return load_chunk(text, into,
                      fmt::format("inbox + (unsigned)((from * {} + {} + at_row * 8 + group) * {})",
                                  places(), at, 4 * exchange_->words));
  text.line("unsigned {}[4];", into);
  text.line("get_words({}, inbox + ((from * {} + row_tile) * {} + {} + at_row * 8 + group) * 4);",
            into, loop_.row_tiles, places(), at);
}

/// Opens the loop over the blocks whose numbers a lane joins: all of them, or every fourth.
void CountedRowText::open_blocks(TextWriter& text) const {
  if (!loop_.through_memory) {
    text.line("#pragma unroll");
    return text.open("for (int from = 0; from < {}; ++from)", loop_.blocks);
  }
  text.line("#pragma unroll 4");
  text.open("for (int from = in_group; from < {}; from += 4)", loop_.blocks);
}

/// Closes it; lanes that joined every fourth block meet.
void CountedRowText::close_blocks(TextWriter& text, int first, int end) const {
  text.close();
  if (!loop_.through_memory) return;
  for (int chunk = first; chunk < end; ++chunk) {
    text.line("#pragma unroll");
    text.open("for (int word = {}; word < {}; ++word)", chunk * exchange_->words,
              (chunk + 1) * exchange_->words);
    meet(text, "row_sums[word]", kind_of(chunk));
    text.close();
  }
}

/// Joins what all blocks have of a row.
void CountedRowText::join_blocks(TextWriter& text) const {
  const int words = exchange_->words, first = exchange_->first_of_maxima() * words,
            end = exchange_->first_of_squares() * words;
  text.line("float row_sums[{}] = {{}};", exchange_->width());
  if (first < end) {
    text.line("#pragma unroll");
    text.line("for (int word = {}; word < {}; ++word) row_sums[word] = {};", first, end,
              kind_of(exchange_->first_of_maxima()).identity());
  }
  open_blocks(text);
  for (int chunk = 0; chunk < exchange_->first_of_squares(); ++chunk) {
    text.open_block();
    load_of_block(text, "words", chunk);
    text.line("#pragma unroll");
    text.open("for (int word = 0; word < {}; ++word)", words);
    const std::string mine = fmt::format("row_sums[{} + word]", chunk * words);
    text.line("{} = {};", mine, kind_of(chunk).join(mine, "__uint_as_float(words[word])"));
    text.close();
    text.close();
  }
  close_blocks(text, 0, exchange_->first_of_squares());
}

/// Adds the squares that all blocks have of a row.
void CountedRowText::add_squares_of_blocks(TextWriter& text) const {
  const int words = exchange_->words, first = exchange_->first_of_squares();
  const int count = exchange_->chunks() - first;
  text.line("const float one_over_all = one_over({});", loop_.rows.columns);
  text.line("float means[{}];", count * words);
  text.line("#pragma unroll");
  text.line("for (int word = 0; word < {}; ++word) means[word] = row_sums[word] * one_over_all;",
            count * words);
  open_blocks(text);
  count_of_block(text);
  for (int chunk = 0; chunk < count; ++chunk) {
    text.open_block();
    load_of_block(text, "sums", chunk);
    load_of_block(text, "words", first + chunk);
    add_squares(text, fmt::format("row_sums[{} + word]", (first + chunk) * words), chunk * words);
    text.close();
  }
  close_blocks(text, first, first + count);
}

}  // namespace graphc::core::cuda::internal
