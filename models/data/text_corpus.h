// SPDX-License-Identifier: Apache-2.0
// Word-level text corpora: vocabulary, token streams, and the windows a language model trains on.
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

/// The word that stands for the end of a line, and the one for words out of the vocabulary.
inline constexpr std::string_view kEndOfLine = "<eos>";
inline constexpr std::string_view kUnknownWord = "<unk>";

/// What a line without words counts as: a line that ends, or nothing.
enum class BlankLines { kept, dropped };

/// The words of `text` in order, split at spaces and newlines only; every newline is kEndOfLine,
/// or every one after a word of its line. The views of other words point into `text`.
std::vector<std::string_view> split_words(std::string_view text,
                                          BlankLines blank = BlankLines::kept);

/// Words and their ids: 0 for the most frequent; among equally frequent ones, bytes decide.
class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(std::span<const std::string_view> words);
  /// The most frequent words that are UTF-8, at most limit - 1, and last, for all others,
  /// kUnknownWord, wherever `words` has it.
  static Vocabulary most_frequent(std::span<const std::string_view> words, int64_t limit);
  /// The words of to_text(). Throws ErrorKind::input when one comes twice.
  static Vocabulary from_text(std::string_view words);

  int32_t size() const { return int32_t(words_.size()); }
  /// The words in the order of their ids, with a space between them.
  std::string to_text() const { return fmt::format("{}", fmt::join(words_, " ")); }
  const std::string& word(int32_t id) const;
  std::optional<int32_t> id(std::string_view word) const;
  /// The ids of `words`; one that is not in the vocabulary gets the id of kUnknownWord. Throws
  /// ErrorKind::input naming the word, its line and `file` when the vocabulary lacks that too;
  /// lines are counted in `text`, which the words are of.
  std::vector<int32_t> ids(std::span<const std::string_view> words, std::string_view file,
                           std::string_view text) const;
  /// Which of `words` it has not.
  Unknown unknown(std::span<const std::string_view> words) const;

 private:
  std::vector<std::string> words_;
  /// Gives the word the next id; false where it has one.
  bool add(std::string_view word);

  std::map<std::string, int32_t, std::less<>> ids_;
};

/// How a corpus is read.
struct CorpusReading {
  Reading reading = {};
  /// The vocabulary of a checkpoint, to number the words by; that of the part `train` where there
  /// is none. What it lacks is said by a remark.
  const Vocabulary* vocabulary = nullptr;
};

/// Three token streams over one vocabulary.
struct TextCorpus {
  Vocabulary vocabulary;
  std::vector<int32_t> train, valid, test;
};

/// Where a corpus lies: `given` if there is one, else the folder `name` in the folder that the
/// environment variable GRAPHC_DATA names. Throws ErrorKind::input, saying what was wanted, when
/// neither is set.
std::filesystem::path corpus_folder(const std::optional<std::filesystem::path>& given,
                                    std::string_view name);

/// Reads ptb.train.txt, ptb.valid.txt and ptb.test.txt in `folder`. Throws ErrorKind::input for a
/// file that is missing, that holds no words, or that is no text in the encoding.
TextCorpus read_ptb(const std::filesystem::path& folder, const CorpusReading& how = {});

/// Reads train.txt, valid.txt and test.txt in `folder`, or wiki.train.tokens and so on where it has
/// those, as WikiText-2 is distributed (Merity et al. 2016). Throws as read_ptb() does.
TextCorpus read_wikitext2(const std::filesystem::path& folder, BlankLines blank,
                          const CorpusReading& how = {});

/// Tokens and targets of one window, i32[T,B]; a target is the token that follows in its row.
struct Window {
  Literal tokens, targets;
};

/// A token stream laid out as B contiguous rows, the tail dropped; window i is the columns
/// [iT, iT+T). The stream must outlive the windows.
class Windows {
 public:
  /// Throws ErrorKind::input when the stream is too short for one window, or B or T is below 1.
  Windows(std::span<const int32_t> stream, int64_t batch, int64_t steps);

  /// floor((floor(length / B) - 1) / T).
  int64_t count() const { return (row_ - 1) / steps_; }
  int64_t batch() const { return batch_; }
  int64_t steps() const { return steps_; }

  Window window(int64_t index) const;
  /// The same into memory of the caller's, T*B numbers each, row-major [T,B].
  void fill(int64_t index, std::span<int32_t> tokens, std::span<int32_t> targets) const;

 private:
  std::span<const int32_t> stream_;
  int64_t batch_, steps_;
  int64_t row_;  ///< tokens in a row
};

}  // namespace graphc::core
