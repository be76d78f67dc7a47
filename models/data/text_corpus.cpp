// SPDX-License-Identifier: Apache-2.0
// Reads word-level corpora: counts words, numbers them, and splits the stream into windows.
#include "models/data/text_corpus.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "ir/utf8.h"
#include "runtime/files/text_encoding.h"

namespace graphc::core {
namespace {

/// The text of a file and its words, at least one.
struct WordFile {
  WordFile(const std::filesystem::path& file, BlankLines blank, const Reading& reading,
           const std::string& wanted)
      : path(file.string()), text(read(path, reading, wanted)), words(split_words(text, blank)) {
    if (words.empty()) {
      throw input_error({}, "'{}' holds no words: wanted text, a sentence a line", path);
    }
  }

  static std::string read(const std::string& path, const Reading& reading,
                          const std::string& wanted) {
    try {
      return read_text_file(path, reading.encoding);
    } catch (Error& error) {
      error.note(wanted);
      throw;
    }
  }

  std::string path;
  std::string text;
  std::vector<std::string_view> words;
};

/// Reads the files `before` + train, valid, test + `after` of a folder.
TextCorpus read_corpus(const std::filesystem::path& folder, const std::string& before,
                       const std::string& after, BlankLines blank, const CorpusReading& how) {
  const auto name = [&](const char* split) { return before + split + after; };
  const std::string wanted =
      fmt::format("wanted a folder with {}, {} and {}", name("train"), name("valid"), name("test"));
  TextCorpus corpus;
  const auto ids = [&](const WordFile& file) {
    if (how.vocabulary != nullptr) {
      const Unknown unknown = corpus.vocabulary.unknown(file.words);
      if (!unknown.counts.empty())
        how.reading.say(fmt::format("'{}': {}", file.path, unknown.to_text("words")));
    }
    return corpus.vocabulary.ids(file.words, file.path, file.text);
  };
  const WordFile train(folder / name("train"), blank, how.reading, wanted);
  corpus.vocabulary = how.vocabulary != nullptr ? *how.vocabulary : Vocabulary(train.words);
  corpus.train = ids(train);
  const WordFile valid(folder / name("valid"), blank, how.reading, wanted),
      test(folder / name("test"), blank, how.reading, wanted);
  corpus.valid = ids(valid);
  corpus.test = ids(test);
  return corpus;
}

/// Words in the order of their ids: the most frequent first.
std::vector<std::string_view> by_frequency(std::span<const std::string_view> words) {
  std::unordered_map<std::string_view, int64_t> counts;
  for (std::string_view word : words) ++counts[word];
  std::vector<std::pair<std::string_view, int64_t>> order(counts.begin(), counts.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<std::string_view> result;
  for (const auto& [word, count] : order) result.push_back(word);
  return result;
}

bool is_utf8(std::string_view word) {
  while (!word.empty()) {
    const size_t length = decode_utf8(word).second;
    if (length == 0) return false;
    word.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text, BlankLines blank) {
  std::vector<std::string_view> words;
  bool in_line = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    in_line |= end > 0;
    if (end < text.size() && text[end] == '\n') {
      if (in_line || blank == BlankLines::kept) words.push_back(kEndOfLine);
      in_line = false;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool Vocabulary::add(std::string_view word) {
  if (!ids_.emplace(word, size()).second) return false;
  words_.emplace_back(word);
  return true;
}

Vocabulary::Vocabulary(std::span<const std::string_view> words) {
  for (std::string_view word : by_frequency(words)) add(word);
}

Vocabulary Vocabulary::most_frequent(std::span<const std::string_view> words, int64_t limit) {
  Vocabulary result;
  for (std::string_view word : by_frequency(words)) {
    if (result.size() + 1 >= limit) break;
    if (word != kUnknownWord && is_utf8(word)) result.add(word);
  }
  result.add(kUnknownWord);
  return result;
}

Vocabulary Vocabulary::from_text(std::string_view words) {
  Vocabulary result;
  for (std::string_view word : split_words(words)) {
    if (!result.add(word))
      throw input_error({}, "a vocabulary has the word '{}' twice", printable(word));
  }
  return result;
}

const std::string& Vocabulary::word(int32_t id) const {
  if (id < 0 || id >= size()) {
    throw input_error({}, "the vocabulary has the ids 0 to {}: found {}", size() - 1, id);
  }
  return words_[size_t(id)];
}

std::optional<int32_t> Vocabulary::id(std::string_view word) const {
  const auto found = ids_.find(word);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::vector<int32_t> Vocabulary::ids(std::span<const std::string_view> words, std::string_view file,
                                     std::string_view text) const {
  const std::unordered_map<std::string_view, int32_t> table(ids_.begin(), ids_.end());
  const std::optional<int32_t> unknown = id(kUnknownWord);
  std::vector<int32_t> result;
  result.reserve(words.size());
  const char* last = text.data();  // position of the last word in the text
  for (std::string_view word : words) {
    if (word.data() != kEndOfLine.data()) last = word.data();
    const auto found = table.find(word);
    if (found == table.end() && !unknown) {
      throw input_error({}, "'{}' line {}: '{}' is not in the vocabulary, which has no {}", file,
                        1 + std::count(text.data(), last, '\n'), printable(word), kUnknownWord);
    }
    result.push_back(found == table.end() ? *unknown : found->second);
  }
  return result;
}

Unknown Vocabulary::unknown(std::span<const std::string_view> words) const {
  Unknown result{.counts = {}, .all = int64_t(words.size())};
  for (std::string_view word : words) {
    if (ids_.contains(word)) continue;
    ++result.counts[std::string(word)];
  }
  return result;
}

std::filesystem::path corpus_folder(const std::optional<std::filesystem::path>& given,
                                    std::string_view name) {
  if (given) return *given;
  const char* data = std::getenv("GRAPHC_DATA");
  if (data == nullptr || *data == '\0') {
    throw input_error({},
                      "no folder for the corpus '{}': wanted its path, or GRAPHC_DATA set to the "
                      "folder that has it",
                      name);
  }
  return std::filesystem::path(data) / name;
}

TextCorpus read_ptb(const std::filesystem::path& folder, const CorpusReading& how) {
  return read_corpus(folder, "ptb.", ".txt", BlankLines::kept, how);
}

TextCorpus read_wikitext2(const std::filesystem::path& folder, BlankLines blank,
                          const CorpusReading& how) {
  std::error_code ignored;
  if (std::filesystem::exists(folder / "wiki.train.tokens", ignored))
    return read_corpus(folder, "wiki.", ".tokens", blank, how);
  return read_corpus(folder, "", ".txt", blank, how);
}

Windows::Windows(std::span<const int32_t> stream, int64_t batch, int64_t steps)
    : stream_(stream), batch_(batch), steps_(steps), row_(0) {
  if (batch < 1 || steps < 1) {
    throw input_error({}, "batch and steps are at least 1: found {} and {}", batch, steps);
  }
  row_ = int64_t(stream.size()) / batch;
  if (row_ - 1 < steps) {
    throw input_error({},
                      "{} tokens make {} rows of {}: too few for {} steps and the token after them",
                      stream.size(), batch, row_, steps);
  }
}

Window Windows::window(int64_t index) const {
  const Type type{DType::i32, {steps_, batch_}};
  Window window{Literal(type), Literal(type)};
  fill(index, window.tokens.mutable_data<int32_t>(), window.targets.mutable_data<int32_t>());
  return window;
}

void Windows::fill(int64_t index, std::span<int32_t> tokens, std::span<int32_t> targets) const {
  GRAPHC_CHECK(index >= 0 && index < count(), "window {} of {}", index, count());
  GRAPHC_CHECK(int64_t(tokens.size()) == steps_ * batch_ && tokens.size() == targets.size(),
               "a window of {} tokens and {} targets, not {}", tokens.size(), targets.size(),
               steps_ * batch_);
  for (int64_t step = 0; step < steps_; ++step) {
    for (int64_t row = 0; row < batch_; ++row) {
      const size_t from = size_t(row * row_ + index * steps_ + step);
      tokens[size_t(step * batch_ + row)] = stream_[from];
      targets[size_t(step * batch_ + row)] = stream_[from + 1];
    }
  }
}

}  // namespace graphc::core
