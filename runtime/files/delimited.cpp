// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/delimited.h"

#include <algorithm>
#include <utility>

#include "ir/error.h"

namespace graphc::core {
namespace {

constexpr std::string_view kDelimiters = "\t;|, ";
/// Bytes to examine before the delimiter is chosen.
constexpr size_t kDelimitedHead = size_t{1} << 16;

std::string trimmed_of(std::string_view text, std::string_view what) {
  const size_t begin = text.find_first_not_of(what);
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(what) + 1 - begin));
}

std::string trimmed(std::string_view text) { return trimmed_of(text, " \t"); }

/// The text's records without quoted content; without the last one if it may be incomplete.
std::vector<std::string> bare_records(std::string_view text, bool whole) {
  std::vector<std::string> records(1);
  bool quoted = false;
  for (const char byte : text) {
    if (byte == '"') quoted = !quoted;
    if ((byte == '\n' || byte == '\r') && !quoted) {
      records.emplace_back();
    } else if (byte == '"') {
      // A quoted cell must not become a space between its neighbours.
      records.back() += '"';
    } else if (!quoted) {
      records.back() += byte;
    }
  }
  if (!whole && records.size() > 1) records.pop_back();
  std::erase_if(records, [](const std::string& record) { return record.empty(); });
  return records;
}

/// Occurrences of the delimiter; adjacent spaces count as one.
int64_t count_of(char delimiter, std::string_view record) {
  if (delimiter != ' ') return std::ranges::count(record, delimiter);
  const std::string text = trimmed_of(record, " ");
  int64_t runs = 0;
  for (size_t i = 1; i < text.size(); ++i) runs += text[i] == ' ' && text[i - 1] != ' ';
  return runs;
}

/// Whether each record has the delimiter equally often, and at least once.
bool parts_all(char delimiter, const std::vector<std::string>& records) {
  const int64_t count = records.empty() ? 0 : count_of(delimiter, records[0]);
  return count > 0 && std::ranges::all_of(records, [&](const std::string& record) {
           return count_of(delimiter, record) == count;
         });
}

char delimiter_of(const std::vector<std::string>& records, bool decimal_commas) {
  if (records.empty()) return ',';
  std::string candidates(kDelimiters);
  if (decimal_commas) std::erase(candidates, ',');
  for (const char each : candidates) {
    if (parts_all(each, records)) return each;
  }
  std::erase(candidates, ' ');
  const auto count = [&](char each) { return count_of(each, records[0]); };
  const char most = *std::ranges::max_element(candidates, {}, count);
  // A table with one column has no delimiter.
  return count(most) > 0 ? most : decimal_commas ? ';' : ',';
}

/// The character named by Excel's first line `sep=;`, or 0.
char said_delimiter(std::string_view& text) {
  std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  const size_t length = line.size();
  if (line.size() == 7 && line.starts_with('"') && line.ends_with('"')) line = line.substr(1, 5);
  if (line.size() != 5 || !(line.starts_with("sep=") || line.starts_with("SEP="))) return 0;
  text.remove_prefix(length);
  if (text.starts_with("\r\n")) text.remove_prefix(1);
  if (!text.empty()) text.remove_prefix(1);
  return line[4];
}

}  // namespace

void DelimitedText::add(std::string_view piece) {
  if (delimiter_ == 0) {
    head_ += piece;
    if (head_.size() >= kDelimitedHead) begin();
  } else {
    for (const char byte : piece) take_any(byte);
  }
}

void DelimitedText::begin() {
  std::string_view text = head_;
  if (const char said = said_delimiter(text); said != 0) {
    const std::string rest(text);
    delimiter_ = said;
    line_ = first_ = 2;
    head_.clear();
    for (const char byte : rest) take_any(byte);
    return;
  }
  const std::vector<std::string> records = bare_records(head_, head_.size() < kDelimitedHead);
  delimiter_ = delimiter_of(records, decimal_commas_);
  spaces_too_ = delimiter_ == ',' && parts_all(' ', records);
  for (const char byte : std::exchange(head_, {})) take_any(byte);
}

void DelimitedText::take_any(char byte) {
  const bool after_return = std::exchange(after_return_, false);
  if (byte == '\n' && after_return) return;
  after_return_ = byte == '\r' && state_ != State::quoted;
  take(after_return_ ? '\n' : byte);
}

void DelimitedText::take(char byte) {
  if (byte == '\0')
    throw input_error({}, "{}:{}: a byte 0: wanted a table as text, or a .npy file", file_, line_);
  if (++bytes_ > kMostOfRecord) {
    throw input_error({}, "{}:{}: a record of more than {} bytes{}: wanted a table of numbers",
                      file_, first_, kMostOfRecord,
                      state_ == State::quoted ? ", in a quote that is not closed" : "");
  }
  if (byte == '\n') ++line_;
  if (state_ == State::begin) {
    // Adjacent spaces count as one, and leading ones are skipped.
    if (delimiter_ == ' ' && byte == ' ') return;
    state_ = byte == '"' ? State::quoted : State::plain;
    if (byte == '"') return;
  }
  if (state_ == State::quoted) {
    if (byte == '"') {
      state_ = State::closing;
    } else {
      cell_ += byte;
    }
  } else if (byte == delimiter_) {
    end_cell();
  } else if (byte == '\n') {
    const bool space = delimiter_ == ' ' && !cells_.empty();
    // Trailing spaces do not start another cell.
    if (!space || !trimmed(cell_).empty() || state_ == State::closing) end_cell();
    cell_.clear();
    state_ = State::begin;
    end_record();
  } else if (state_ == State::plain) {
    cell_ += byte;
  } else if (byte == '"') {
    cell_ += byte;
    state_ = State::quoted;
  } else if (byte != ' ' && byte != '\r') {
    throw input_error({}, "{}:{}: '{}' after a closing quote: wanted '{}' or the end of the line",
                      file_, line_, byte, delimiter_ == '\t' ? "\\t" : std::string(1, delimiter_));
  }
}

void DelimitedText::end_cell() {
  cells_.push_back(state_ == State::closing ? std::move(cell_) : trimmed(cell_));
  cell_.clear();
  state_ = State::begin;
}

void DelimitedText::end_record() {
  take_(cells_, first_);
  cells_.clear();
  bytes_ = 0;
  first_ = line_;
}

void DelimitedText::end() {
  if (delimiter_ == 0) begin();
  // Ends an unterminated last line; inside a quote the newline is one more byte of the cell.
  if (bytes_ > 0) take('\n');
  if (state_ == State::quoted)
    throw input_error({}, "{}:{}: a quote that is not closed", file_, first_);
}

}  // namespace graphc::core
