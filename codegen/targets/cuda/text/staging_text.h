// SPDX-License-Identifier: Apache-2.0
// How the threads of a block copy a piece of a product's operand from memory into shared memory.
//
// A load from memory takes longer than the multiplication of a piece. So a thread issues all of its
// loads before it waits for the first one. Where registers suffice, the loads are issued before the
// previous piece is multiplied.
//
// No load has a condition of its own edge, and what is loaded is used when it is written to shared
// memory, not before: a thread has seven registers for conditions, so that loads with a condition
// each come a few at a time, and a conversion waits for its number. A word beyond an end loads one
// before it, and is replaced by zero when it is written.
#pragma once

#include <bit>
#include <functional>
#include <string>
#include <string_view>

#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda::internal {

/// Registers of a thread for the loaded numbers of an operand.
inline constexpr int kMostAhead = 64;

/// An operand's piece as `lines` of `width` words of shared memory each. Neighbouring threads read
/// and write neighbouring words.
struct StagedPiece {
  std::string name;          ///< of the operand: left_0
  std::string_view type;     ///< of a number in memory
  int lines = 1, width = 1;  ///< words
  int numbers = 1;           ///< per word
  int threads = 1;           ///< of the block; `thread` is the index of one

  /// Words per thread.
  int words() const { return (lines * width + threads - 1) / threads; }
  bool reads_ahead() const { return words() * numbers <= kMostAhead; }
  /// Whether a thread has the same position in each of its lines, which are line_step() apart.
  bool has_columns() const { return threads % width == 0; }
  int line_step() const { return threads / width; }
  /// Whether it has several positions, the same in each line, and all of their words at a time.
  bool has_many_columns() const { return width > threads && width % threads == 0 && reads_ahead(); }
};

/// The width of a piece whose lines have so many words: the next one by which each of so many
/// threads has the same position in all of its lines, if there is one. The words between are none.
inline int staged_width(int words, int threads) {
  const int wider = int(std::bit_ceil(unsigned(words)));
  return words > threads || threads % wider != 0 ? words : wider;
}

/// Texts that the owner of a piece provides.
struct StagedTexts {
  /// Declares the variables that the other texts use, given the texts of the line and of the
  /// position in it; those of a thread's first word, or the first one of each position, if the
  /// piece has columns.
  using Place = std::function<void(TextWriter&, const std::string& line, const std::string& at)>;
  Place place;
  /// The expression for a number of the word, 0 or 1: of the word at `place`, or of the one that
  /// `advance` went on to. It may always be loaded.
  std::function<std::string(int number)> number;
  /// Goes on from a word to the next one of the same thread and position.
  std::function<void(TextWriter&)> advance;
  /// As `place`, for `put`.
  Place there;
  /// Stores a word that consists of these numbers, or of zeros for those that are not there.
  std::function<std::string(const std::string& line, const std::string& at,
                            const std::string& first, const std::string& second)>
      put;
};

/// Writes the text that copies a piece.
class StagingText {
 public:
  StagingText(StagedPiece piece, StagedTexts texts);

  /// Whether a piece is kept in registers while the previous one is multiplied.
  bool reads_ahead() const { return piece_.reads_ahead(); }

  /// Declares the registers. Once, before the loop over pieces.
  void declare(TextWriter& text) const;
  /// Loads into the registers.
  void load(TextWriter& text) const { load(text, words_, ""); }
  /// Writes the loaded values to shared memory.
  void put(TextWriter& text) const { put(text, words_, ""); }
  /// Both, in several turns if the registers do not suffice for all words.
  void bring(TextWriter& text) const;

 private:
  void load(TextWriter& text, int words, const std::string& first) const;
  void put(TextWriter& text, int words, const std::string& first) const;
  /// What is done with a word: the texts of its line, of its position in it, and of its registers.
  using OfWord =
      std::function<void(const std::string& line, const std::string& at, const std::string& word)>;
  /// Writes `of_word` for `words` of a thread's words, after the `first` ones, with the variables
  /// of `place` in scope.
  void each_word(TextWriter& text, int words, const std::string& first,
                 const StagedTexts::Place& place, const OfWord& of_word) const;
  /// The line, and the position in it, of the thread's word `at` after the first ones.
  std::string line(const std::string& first, std::string_view at) const;
  std::string place_in_line(const std::string& first, std::string_view at) const;
  /// Whether a turn of `words` words of each thread may pass the end.
  bool is_beyond(int words) const;
  /// Whether a thread has its words column by column.
  bool is_by_column() const { return piece_.has_many_columns(); }
  /// The register of a number of the thread's word `at`.
  std::string waiting(int number, std::string_view at) const;

  const StagedPiece piece_;
  const StagedTexts texts_;
  const int words_;  ///< per thread
};

}  // namespace graphc::core::cuda::internal
