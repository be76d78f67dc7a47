// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/staging_text.h"

#include <algorithm>
#include <utility>

namespace graphc::core::cuda::internal {
namespace {

/// The text of `x` times `factor`.
std::string product(const std::string& x, int factor) {
  return factor == 1 ? x : fmt::format("{} * {}", x, factor);
}

/// The thread's word `at` after the first ones.
std::string nth(const std::string& first, std::string_view at) {
  if (first.empty()) return std::string(at);
  return at == "0" ? first : fmt::format("({} + {})", first, at);
}

}  // namespace

StagingText::StagingText(StagedPiece piece, StagedTexts texts)
    : piece_(std::move(piece)), texts_(std::move(texts)), words_(piece_.words()) {}

void StagingText::declare(TextWriter& text) const {
  const int words = std::min(words_, kMostAhead / piece_.numbers);
  text.line("{} ahead_{}[{}];", piece_.type, piece_.name, words * piece_.numbers);
}

void StagingText::bring(TextWriter& text) const {
  if (reads_ahead()) {
    load(text);
    return put(text);
  }
  const int at_once = kMostAhead / piece_.numbers;
  text.open("for (int first_word = 0; first_word < {}; first_word += {})", words_, at_once);
  load(text, at_once, "first_word");
  put(text, at_once, "first_word");
  text.close();
}

/// A pointer walks down a column: an address for each line would take two registers.
void StagingText::load_columns(TextWriter& text) const {
  text.line("#pragma unroll");
  text.open("for (int at_position = 0; at_position < {}; ++at_position)",
            piece_.width / piece_.threads);
  texts_.place(text, "0", fmt::format("at_position * {} + thread", piece_.threads));
  text.line("#pragma unroll");
  text.open("for (int at = 0; at < {}; ++at)", piece_.lines);
  const std::string word = fmt::format("(at_position * {} + at)", piece_.lines);
  for (int number = 0; number < piece_.numbers; ++number)
    text.line("{} = {};", waiting(number, word), texts_.number(number));
  text.line("{};", texts_.advance);
  text.close();
  text.close();
}

void StagingText::load(TextWriter& text, int words, const std::string& first) const {
  if (is_by_column()) return load_columns(text);
  text.open_block();
  const bool columns = piece_.has_columns();
  if (columns) texts_.place(text, line(first, "0"), place_in_line(first, "0"));
  open_words(text, words, first);
  const std::string_view at = words == 1 ? "0" : "at";
  if (!columns) texts_.place(text, line(first, at), place_in_line(first, at));
  for (int number = 0; number < piece_.numbers; ++number)
    text.line("{} = {};", waiting(number), texts_.number(number));
  if (columns && words > 1 && !texts_.advance.empty()) text.line("{};", texts_.advance);
  close_words(text, words);
  text.close();
}

void StagingText::put(TextWriter& text, int words, const std::string& first) const {
  const std::string_view at = words == 1 ? "0" : "at";
  open_words(text, words, first);
  text.line("{};", texts_.put(line(first, at), place_in_line(first, at), waiting(0),
                              piece_.numbers > 1 ? waiting(1) : std::string()));
  close_words(text, words);
}

void StagingText::open_words(TextWriter& text, int words, const std::string& first) const {
  text.line("#pragma unroll");
  text.open("for (int at = 0; at < {}; ++at)", words);
  if (is_beyond(words))
    text.open("if ({} + thread < {})", product(nth(first, "at"), piece_.threads),
              piece_.lines * piece_.width);
}

void StagingText::close_words(TextWriter& text, int words) const {
  if (is_beyond(words)) text.close();
  text.close();
}

std::string StagingText::line(const std::string& first, std::string_view at) const {
  const std::string word = nth(first, at);
  if (piece_.has_columns()) {
    const std::string own = fmt::format("thread / {}", piece_.width);
    return word == "0" ? own : fmt::format("{} + {}", product(word, piece_.line_step()), own);
  }
  if (is_by_column()) return fmt::format("{} % {}", word, piece_.lines);
  if (piece_.width % piece_.threads == 0)
    return fmt::format("{} / {}", word, piece_.width / piece_.threads);
  return fmt::format("({} + thread) / {}", product(word, piece_.threads), piece_.width);
}

std::string StagingText::place_in_line(const std::string& first, std::string_view at) const {
  const std::string word = nth(first, at);
  if (piece_.has_columns()) return fmt::format("thread % {}", piece_.width);
  if (is_by_column())
    return fmt::format("{} / {} * {} + thread", word, piece_.lines, piece_.threads);
  if (piece_.width % piece_.threads == 0)
    return fmt::format("{} % {} * {} + thread", word, piece_.width / piece_.threads,
                       piece_.threads);
  return fmt::format("({} + thread) % {}", product(word, piece_.threads), piece_.width);
}

bool StagingText::is_beyond(int words) const {
  return piece_.lines * piece_.width % piece_.threads != 0 || words_ % words != 0;
}

std::string StagingText::waiting(int number, std::string_view at) const {
  if (piece_.numbers == 1) return fmt::format("ahead_{}[{}]", piece_.name, at);
  return fmt::format("ahead_{}[{} * {} + {}]", piece_.name, at, piece_.numbers, number);
}

}  // namespace graphc::core::cuda::internal
