// SPDX-License-Identifier: Apache-2.0
// How the threads of a block bring a piece of a product's operand from memory into shared memory.
//
// A load from memory takes longer than a block multiplies a piece. So all loads of a thread are on
// their way before the first is waited for, and where registers have room for them, they are begun
// before the piece before is multiplied.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda::internal {

/// Registers of a thread that numbers of an operand may wait in.
inline constexpr int kMostAhead = 64;

/// An operand's piece as `lines` of `width` words of shared memory each, whose neighbours are read
/// and written by neighbours among the threads.
struct StagedPiece {
  std::string name;          ///< of the operand: left_0
  std::string_view type;     ///< of a number
  int lines = 1, width = 1;  ///< words
  int numbers = 1;           ///< in a word
  int threads = 1;           ///< of the block; `thread` is which one it is

  /// Words of a thread.
  int words() const { return (lines * width + threads - 1) / threads; }
  bool reads_ahead() const { return words() * numbers <= kMostAhead; }
  /// Whether a thread has the same place in each of its lines, which are line_step() apart.
  bool has_columns() const { return threads % width == 0; }
  int line_step() const { return threads / width; }
};

/// What is said of a piece by whom it belongs to, as text.
struct StagedTexts {
  /// Declares what the others refer to, from the texts of the line and of the place in it; those of
  /// a thread's first word if the piece has columns.
  using Place = std::function<void(TextWriter&, const std::string& line, const std::string& at)>;
  Place place;
  /// The expression for a number of the word, 0 or 1: of the word at `place`, or of the one that is
  /// `at` turns behind it.
  std::function<std::string(int number)> number;
  /// A statement for the end of each turn, where the piece has columns; or none.
  std::string advance;
  /// Stores a word that consists of these numbers.
  std::function<std::string(const std::string& line, const std::string& at,
                            const std::string& first, const std::string& second)>
      put;
};

/// Writes the text that brings a piece.
class StagingText {
 public:
  StagingText(StagedPiece piece, StagedTexts texts);

  /// Whether a piece waits in registers while the one before is multiplied.
  bool reads_ahead() const { return piece_.reads_ahead(); }

  /// The registers. Once, before the loop over pieces.
  void declare(TextWriter& text) const;
  /// Reads into the registers.
  void load(TextWriter& text) const { load(text, words_, ""); }
  /// Writes what was read into shared memory.
  void put(TextWriter& text) const { put(text, words_, ""); }
  /// Both at once, in several turns where registers have no room for all.
  void bring(TextWriter& text) const;

 private:
  void load(TextWriter& text, int words, const std::string& first) const;
  void put(TextWriter& text, int words, const std::string& first) const;
  /// A loop of each thread over its words, of which `first` come before.
  void open_words(TextWriter& text, int words, const std::string& first) const;
  void close_words(TextWriter& text, int words) const;
  /// The line, and the place in it, of the thread's word `at` behind those.
  std::string line(const std::string& first, std::string_view at) const;
  std::string place_in_line(const std::string& first, std::string_view at) const;
  /// Whether a turn of so many words of each thread may have some beyond the end.
  bool is_beyond(int words) const;
  std::string waiting(int number) const;

  const StagedPiece piece_;
  const StagedTexts texts_;
  const int words_;  ///< of a thread
};

}  // namespace graphc::core::cuda::internal
