// SPDX-License-Identifier: Apache-2.0
// Reads word-level corpora: counts words, numbers them, cuts the stream into windows.
#include "models/data/text_corpus.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "ir/utf8.h"
#include "runtime/files/files.h"
#include "runtime/files/foreign.h"

namespace graphc {
namespace {

/// The file's text and the words in it, of which there is at least one.
struct WordFile {
  WordFile(const std::filesystem::path& folder, const char* name)
      : path((folder / name).string()), text(read(path)), words(split_words(text)) {
    refuse_foreign(text, path, Wanted::text);
    if (const size_t zero = text.find('\0'); zero != text.npos)
      throw input_error({}, "'{}' is no text: byte {} is 0", path, zero);
    if (words.empty()) {
      throw input_error({}, "'{}' holds no words: wanted text, a sentence a line", path);
    }
  }

  static std::string read(const std::string& path) {
    try {
      return read_file(path, kMostOfText);
    } catch (Error& error) {
      error.note("wanted a folder with ptb.train.txt, ptb.valid.txt and ptb.test.txt");
      throw;
    }
  }

  std::string path;
  std::string text;
  std::vector<std::string_view> words;
};

}  // namespace

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    if (end < text.size() && text[end] == '\n') words.push_back(kEndOfLine);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

Vocabulary::Vocabulary(std::span<const std::string_view> words) {
  std::unordered_map<std::string_view, int64_t> counts;
  for (std::string_view word : words) ++counts[word];
  std::vector<std::pair<std::string_view, int64_t>> order(counts.begin(), counts.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  words_.reserve(order.size());
  for (const auto& [word, count] : order) {
    ids_.emplace(word, int32_t(words_.size()));
    words_.emplace_back(word);
  }
}

Vocabulary Vocabulary::from_text(std::string_view words) {
  Vocabulary result;
  for (std::string_view word : split_words(words)) {
    if (!result.ids_.emplace(word, result.size()).second)
      throw input_error({}, "a vocabulary has the word '{}' twice", printable(word));
    result.words_.emplace_back(word);
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

std::vector<int32_t> Vocabulary::ids(std::span<const std::string_view> words,
                                     std::string_view file) const {
  const std::unordered_map<std::string_view, int32_t> table(ids_.begin(), ids_.end());
  const std::optional<int32_t> unknown = id(kUnknownWord);
  std::vector<int32_t> result;
  result.reserve(words.size());
  int64_t line = 1;
  for (std::string_view word : words) {
    const auto found = table.find(word);
    if (found == table.end() && !unknown) {
      throw input_error({}, "'{}' line {}: '{}' is not in the vocabulary, which has no {}", file,
                        line, printable(word), kUnknownWord);
    }
    result.push_back(found == table.end() ? *unknown : found->second);
    line += word == kEndOfLine ? 1 : 0;
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

TextCorpus read_ptb(const std::filesystem::path& folder) {
  TextCorpus corpus;
  const WordFile train(folder, "ptb.train.txt");
  corpus.vocabulary = Vocabulary(train.words);
  corpus.train = corpus.vocabulary.ids(train.words, train.path);
  const WordFile valid(folder, "ptb.valid.txt"), test(folder, "ptb.test.txt");
  corpus.valid = corpus.vocabulary.ids(valid.words, valid.path);
  corpus.test = corpus.vocabulary.ids(test.words, test.path);
  return corpus;
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

}  // namespace graphc
