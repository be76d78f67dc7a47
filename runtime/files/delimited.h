// SPDX-License-Identifier: Apache-2.0
// Delimited text (CSV as RFC 4180 has it, also with other separators), record by record.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core {

/// Splits text that comes in pieces into records of cells. A record ends at a newline, a carriage
/// return, or both; a cell in quotes may have newlines, delimiters, and quotes
/// written twice. The delimiter is the first one of tab, semicolon, |, comma and space (any number
/// of them) that each of the first records has as often, outside of quotes; where there is none,
/// the one of the first four that the first record has most of. A first line `sep=;`, as Excel
/// reads and writes it, names the delimiter and is no record.
class DelimitedText {
 public:
  /// A record longer than this is no record of numbers.
  static constexpr size_t kMostOfRecord = size_t{1} << 20;

  using Cells = std::vector<std::string>;
  /// `take` is told the cells of each record, space around those without quotes taken away, and the
  /// line that the record begins at, from 1. An empty line is a record of one empty cell. `file` is
  /// how errors call the text. Where commas are decimal, none is a delimiter.
  DelimitedText(std::string file, std::function<void(const Cells& cells, int64_t line)> take,
                bool decimal_commas = false)
      : file_(std::move(file)), take_(std::move(take)), decimal_commas_(decimal_commas) {}

  /// Throws ErrorKind::input, naming file and line: text after a closing quote, a record that is
  /// too long, a byte 0.
  void add(std::string_view piece);
  /// After the last piece. Throws for a quote that is not closed.
  void end();
  /// 0 before it is known: as long as `take` was told of no record.
  char delimiter() const { return delimiter_; }
  /// Whether the delimiter is a comma, and spaces might be in its place.
  bool has_spaces_as_often() const { return spaces_too_; }

 private:
  /// Where in a cell the next byte is: `closing` is after a quote that ends it or is the first of
  /// two.
  enum class State { begin, plain, quoted, closing };

  void begin();
  /// take(), with a newline for the end of a line in every form.
  void take_any(char byte);
  void take(char byte);
  void end_cell();
  void end_record();

  std::string file_;
  std::function<void(const Cells&, int64_t)> take_;
  bool decimal_commas_;
  std::string head_;    ///< the first records, before the delimiter is known
  char delimiter_ = 0;  ///< 0 before it is known
  Cells cells_;         ///< of the record, so far
  std::string cell_;
  State state_ = State::begin;
  bool after_return_ = false, spaces_too_ = false;
  size_t bytes_ = 0;              ///< of the record
  int64_t line_ = 1, first_ = 1;  ///< of the next byte, and of the record's first one
};

}  // namespace graphc::core
