// SPDX-License-Identifier: Apache-2.0
// Word-level text corpora: vocabulary, token streams, and training windows.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/literal.h"
#include "models/data/texts.h"
#include "models/data/unknown.h"

namespace graphc::core {

/// The word for the end of a line, and the word for words outside the vocabulary.
inline constexpr std::string_view kEndOfLine = "<eos>";
inline constexpr std::string_view kUnknownWord = "<unk>";

/// Whether a line without words counts as a line end.
enum class BlankLines { kept, dropped };

/// The words of `text` in order, split only at spaces and newlines. Every newline gives kEndOfLine;
/// with BlankLines::dropped only after a word on its line. The views of other words point into
/// `text`.
std::vector<std::string_view> split_words(std::string_view text,
                                          BlankLines blank = BlankLines::kept);

/// Words and their ids, from the most frequent (0) down; ties are in byte order.
class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(std::span<const std::string_view> words);
  /// The most frequent UTF-8 words, at most limit - 1, and last kUnknownWord for all others,
  /// wherever it is in `words`.
  static Vocabulary most_frequent(std::span<const std::string_view> words, int64_t limit);
  /// Inverse of to_text(). Throws ErrorKind::input if a word is repeated.
  static Vocabulary from_text(std::string_view words);

  int32_t size() const { return int32_t(words_.size()); }
  /// The words in the order of their ids, separated by spaces.
  std::string to_text() const { return fmt::format("{}", fmt::join(words_, " ")); }
  const std::string& word(int32_t id) const;
  std::optional<int32_t> id(std::string_view word) const;
  /// The ids of `words`; a word outside the vocabulary gets the id of kUnknownWord. If the
  /// vocabulary lacks that, throws ErrorKind::input naming the word, its line and `file`; lines are
  /// counted in `text`, which contains the words.
  std::vector<int32_t> ids(std::span<const std::string_view> words, std::string_view file,
                           std::string_view text) const;
  /// The words that are not in the vocabulary.
  Unknown unknown(std::span<const std::string_view> words) const;

 private:
  std::vector<std::string> words_;
  /// Gives the word the next id; returns false if it has one.
  bool add(std::string_view word);

  std::map<std::string, int32_t, std::less<>> ids_;
};

/// How to read a corpus.
struct CorpusReading {
  Reading reading = {};
  /// A checkpoint's vocabulary with which to number the words; null: that of the part `train`.
  /// Unknown words give a remark.
  const Vocabulary* vocabulary = nullptr;
};

/// Three token streams over one vocabulary.
struct TextCorpus {
  Vocabulary vocabulary;
  std::vector<int32_t> train, valid, test;
};

/// The folder of a corpus: `given`, or the folder `name` in the folder named by the environment
/// variable GRAPHC_DATA. Throws ErrorKind::input, saying what was wanted, if neither is set.
std::filesystem::path corpus_folder(const std::optional<std::filesystem::path>& given,
                                    std::string_view name);

/// Reads ptb.train.txt, ptb.valid.txt and ptb.test.txt in `folder`. Throws ErrorKind::input for a
/// file that is missing, has no words, or is not text in the encoding.
TextCorpus read_ptb(const std::filesystem::path& folder, const CorpusReading& how = {});

/// Reads train.txt, valid.txt and test.txt in `folder`, or wiki.train.tokens and so on, the names
/// in the distribution of WikiText-2 (Merity et al. 2016). Throws as read_ptb() does.
TextCorpus read_wikitext2(const std::filesystem::path& folder, BlankLines blank,
                          const CorpusReading& how = {});

/// Tokens and targets of one window, i32[T,B]; a target is the next token in its row.
struct Window {
  Literal tokens, targets;
};

/// A token stream laid out as B contiguous rows, without its remainder; window i is the columns
/// [iT, iT+T). The stream must outlive the windows.
class Windows {
 public:
  /// Throws ErrorKind::input if the stream is too short for one window, or B or T is below 1.
  Windows(std::span<const int32_t> stream, int64_t batch, int64_t steps);

  /// floor((floor(length / B) - 1) / T).
  int64_t count() const { return (row_ - 1) / steps_; }
  int64_t batch() const { return batch_; }
  int64_t steps() const { return steps_; }

  Window window(int64_t index) const;
  /// The same into the caller's memory, T*B numbers each, row-major [T,B].
  void fill(int64_t index, std::span<int32_t> tokens, std::span<int32_t> targets) const;

 private:
  std::span<const int32_t> stream_;
  int64_t batch_, steps_;
  int64_t row_;  ///< tokens per row
};

}  // namespace graphc::core
