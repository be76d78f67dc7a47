// SPDX-License-Identifier: Apache-2.0
// Delimited text (CSV of RFC 4180, also with other separators), record by record.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core {

/// Splits text that arrives in pieces into records of cells. A record ends at a newline, a carriage
/// return, or both; a quoted cell may contain newlines, delimiters, and doubled quotes. The
/// delimiter is the first one of tab, semicolon, |, comma and space (any number of them) that
/// occurs equally often, outside of quotes, in each of the first records; if there is none, the
/// most frequent one of the first four in the first record. A first line `sep=;`, as written by
/// Excel, names the delimiter and is not a record.
class DelimitedText {
 public:
  /// The maximum length of a record.
  static constexpr size_t kMostOfRecord = size_t{1} << 20;

  using Cells = std::vector<std::string>;
  /// `take` receives the cells of each record, with unquoted cells trimmed, and the line where the
  /// record begins, from 1. An empty line is a record of one empty cell. `file` is the name in
  /// errors. With decimal commas, a comma is never the delimiter.
  DelimitedText(std::string file, std::function<void(const Cells& cells, int64_t line)> take,
                bool decimal_commas = false)
      : file_(std::move(file)), take_(std::move(take)), decimal_commas_(decimal_commas) {}

  /// Throws ErrorKind::input, naming file and line, for text after a closing quote, a record that
  /// is too long, and a byte 0.
  void add(std::string_view piece);
  /// Call after the last piece. Throws for an unclosed quote.
  void end();
  /// 0 until it is known: until the first call of `take`.
  char delimiter() const { return delimiter_; }
  /// Whether the delimiter is a comma but could also be a space.
  bool has_spaces_as_often() const { return spaces_too_; }

 private:
  /// The position in a cell: `closing` is after a quote that either ends the cell or is the first
  /// of two.
  enum class State { begin, plain, quoted, closing };

  void begin();
  /// take(), after normalising every form of line end to a newline.
  void take_any(char byte);
  void take(char byte);
  void end_cell();
  void end_record();

  std::string file_;
  std::function<void(const Cells&, int64_t)> take_;
  bool decimal_commas_;
  std::string head_;    ///< the first records, until the delimiter is known
  char delimiter_ = 0;  ///< 0 until it is known
  Cells cells_;         ///< of the current record
  std::string cell_;
  State state_ = State::begin;
  bool after_return_ = false, spaces_too_ = false;
  size_t bytes_ = 0;              ///< of the current record
  int64_t line_ = 1, first_ = 1;  ///< of the next byte, and of the record's first byte
};

}  // namespace graphc::core
