// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/counted_sends.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "codegen/targets/cuda/loops/counted_text.h"

namespace graphc::core::cuda::internal {

void CountedSendText::send() {
  for (const CountedProduct& of : loop_.products) {
    for (const CountedStore& store : of.stores) {
      if (store.store.nest == index_) send(of, store);
    }
  }
}

void CountedSendText::send(const CountedProduct& of, const CountedStore& store) {
  if (of.scatters) return keep(of, store);
  text_.line("// To all blocks, as the left fragments of product {}: rounded once.", of.name());
  if (of.next_step)
    text_.open("if (iteration + 1 < steps)");
  else
    text_.open_block();
  const std::string_view use = of.next_step ? "(iteration + 1)" : "iteration";
  write_destination(of, use);
  text_.line("#pragma unroll");
  text_.open("for (int tile = 0; tile < {}; ++tile)", nest_.tiles_of_warp);
  const bool has_idle = nest_.warps * nest_.tiles_of_warp > nest_.unit_tiles;
  if (has_idle) text_.open("if (unit_tile + tile < {})", nest_.unit_tiles);
  text_.line("const int strip = rank * {}{} + (unit_tile + tile){};", of.strips_of_block,
             store.first_strip == 0 ? std::string() : fmt::format(" + {}", store.first_strip),
             store.parts == 1 ? std::string() : fmt::format(" * {}", store.parts));
  const bool pairs = of.strips_of_step() == 2 && of.words_of_send(store) == of.left_words();
  for (int part = 0; part < store.parts; part += pairs ? 2 : 1) send_strip(of, store, part, pairs);
  if (has_idle) text_.close();
  text_.close();
  text_.close();
}

void CountedSendText::write_destination(const CountedProduct& of, std::string_view use) {
  if (loop_.through_memory)
    return text_.line("unsigned* operand = operand_{} + {} % 2 * {};", of.name(), use,
                      of.operand_words);
  text_.line("const unsigned counter = counter_{} + (unsigned)({} % 2) * 8u;", of.name(), use);
  text_.line("const unsigned operand = operand_{}{};", of.name(),
             of.copy_text(use, of.operand_words));
}

/// Keeps the strips of a product that scatters for the block's own instructions.
void CountedSendText::keep(const CountedProduct& of, const CountedStore& store) {
  text_.open_block();
  if (of.copies == 1)
    text_.line("unsigned* own = (unsigned*)&shared[{}];", of.operand_at);
  else
    text_.line("unsigned* own = (unsigned*)&shared[{} + iteration % 2 * {}];", of.operand_at,
               of.operand_words);
  text_.line("#pragma unroll");
  text_.open("for (int tile = 0; tile < {}; ++tile)", nest_.tiles_of_warp);
  text_.open("if (unit_tile + tile < {})", nest_.unit_tiles);
  for (int part = 0; part < store.parts; ++part) {
    text_.open_block();
    text_.line("const int strip = {} + (unit_tile + tile) * {};", store.first_strip + part,
               store.parts);
    const std::vector<std::string> words = words_of(of, store, part);
    const bool halves = of.strips_of_step() == 2;
    text_.line("const int at = ((row_tile * {} + strip{}) * 32 + lane) * {}{};", of.steps,
               halves ? " / 2" : "", of.left_words(),
               halves ? fmt::format(" + strip % 2 * {}", loop_.rows_of_lane) : std::string());
    for (size_t i = 0; i < words.size(); ++i) text_.line("own[at + {}] = {};", i, words[i]);
    text_.close();
  }
  for (int i = 0; i < 3; ++i) text_.close();
}

/// The words that a lane has of a strip.
std::vector<std::string> CountedSendText::words_of(const CountedProduct& of,
                                                   const CountedStore& store, int part) const {
  const auto value = [&](int row, int column) {
    return fmt::format("{}[{}][tile * 2 + {}]", body_.kept_name(store.store.operand, part), row,
                       column);
  };
  std::vector<std::string> words;
  const std::string_view rounded = word_function(of.factors);
  if (of.strips_of_step() == 2) {
    for (int row = 0; row < loop_.rows_of_lane; ++row)
      words.push_back(fmt::format("{}({}, {})", rounded, value(row, 0), value(row, 1)));
  } else {
    for (int i = 0; i < of.left_words(); ++i)
      words.push_back(
          fmt::format("{}({})", rounded, value(i % loop_.rows_of_lane, i / loop_.rows_of_lane)));
  }
  return words;
}

void CountedSendText::send_strip(const CountedProduct& of, const CountedStore& store, int part,
                                 bool pair) {
  std::vector<std::string> words = words_of(of, store, part);
  if (pair) {
    for (std::string& word : words_of(of, store, part + 1)) words.push_back(std::move(word));
  }
  const std::string strip = part == 0 ? "strip" : fmt::format("(strip + {})", part);
  // Where memory is addressed by words, and shared memory by bytes.
  const int size = loop_.through_memory ? of.left_words() : of.left_bytes();
  const std::string place =
      of.strips_of_step() == 1
          ? fmt::format("((row_tile * {} + {}) * 32 + lane) * {}", of.steps, strip, size)
      : pair ? fmt::format("((row_tile * {} + {} / 2) * 32 + lane) * {}", of.steps, strip, size)
             : fmt::format("((row_tile * {0} + {1} / 2) * 32 + lane) * {2} + {1} % 2 * {3}",
                           of.steps, strip, size, size / 2);
  if (loop_.through_memory)
    text_.line("put_{}(operand + {},", words.size(), place);
  else
    text_.line("send_{}(operand + (unsigned)({}), counter,", words.size(), place);
  for (size_t i = 0; i < words.size(); ++i)
    text_.line("       {}{}", words[i], i + 1 < words.size() ? "," : ");");
}

}  // namespace graphc::core::cuda::internal
