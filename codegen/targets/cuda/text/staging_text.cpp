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

void StagingText::load(TextWriter& text, int words, const std::string& first) const {
  each_word(text, words, first, texts_.place,
            [&](const std::string&, const std::string&, const std::string& word) {
              for (int number = 0; number < piece_.numbers; ++number)
                text.line("{} = {};", waiting(number, word), texts_.number(number));
              if (piece_.has_columns() || is_by_column()) texts_.advance(text);
            });
}

void StagingText::put(TextWriter& text, int words, const std::string& first) const {
  each_word(text, words, first, texts_.there,
            [&](const std::string& line, const std::string& at, const std::string& word) {
              text.line("{};", texts_.put(line, at, waiting(0, word),
                                          piece_.numbers > 1 ? waiting(1, word) : std::string()));
            });
}

void StagingText::each_word(TextWriter& text, int words, const std::string& first,
                            const StagedTexts::Place& place, const OfWord& of_word) const {
  text.open_block();
  if (is_by_column()) {
    text.line("#pragma unroll");
    text.open("for (int at_position = 0; at_position < {}; ++at_position)",
              piece_.width / piece_.threads);
    const std::string at = fmt::format("at_position * {} + thread", piece_.threads);
    place(text, "0", at);
    text.line("#pragma unroll");
    text.open("for (int at = 0; at < {}; ++at)", piece_.lines);
    of_word("at", at, fmt::format("(at_position * {} + at)", piece_.lines));
    for (int i = 0; i < 3; ++i) text.close();
    return;
  }
  const bool columns = piece_.has_columns();
  if (columns) place(text, line(first, "0"), place_in_line(first, "0"));
  text.line("#pragma unroll");
  text.open("for (int at = 0; at < {}; ++at)", words);
  if (is_beyond(words))
    text.open("if ({} + thread < {})", product(nth(first, "at"), piece_.threads),
              piece_.lines * piece_.width);
  const std::string_view at = words == 1 ? "0" : "at";
  if (!columns) place(text, line(first, at), place_in_line(first, at));
  of_word(line(first, at), place_in_line(first, at), "at");
  if (is_beyond(words)) text.close();
  text.close();
  text.close();
}

std::string StagingText::line(const std::string& first, std::string_view at) const {
  const std::string word = nth(first, at);
  if (piece_.has_columns()) {
    const std::string own = fmt::format("thread / {}", piece_.width);
    return word == "0" ? own : fmt::format("{} + {}", product(word, piece_.line_step()), own);
  }
  if (piece_.width % piece_.threads == 0)
    return fmt::format("{} / {}", word, piece_.width / piece_.threads);
  return fmt::format("({} + thread) / {}", product(word, piece_.threads), piece_.width);
}

std::string StagingText::place_in_line(const std::string& first, std::string_view at) const {
  const std::string word = nth(first, at);
  if (piece_.has_columns()) return fmt::format("thread % {}", piece_.width);
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
