// SPDX-License-Identifier: Apache-2.0
#include "models/data/delimited.h"

#include <algorithm>

#include "ir/error.h"

namespace graphc::core {
namespace {

constexpr std::string_view kDelimiters = "\t;,";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin));
}

/// What the first record has most of, outside of quotes.
char delimiter_of(std::string_view first) {
  const auto count = [&](char delimiter) {
    int64_t found = 0;
    bool quoted = false;
    for (const char byte : first) {
      if (byte == '"') quoted = !quoted;
      if (byte == delimiter && !quoted) ++found;
    }
    return found;
  };
  const char most = *std::ranges::max_element(kDelimiters, {}, count);
  // A table of one column has none.
  return count(most) > 0 ? most : ',';
}

}  // namespace

void DelimitedText::add(std::string_view piece) {
  if (delimiter_ == 0) {
    begin_with(piece);
  } else {
    for (const char byte : piece) take(byte);
  }
}

void DelimitedText::begin_with(std::string_view piece) {
  for (const char byte : piece) {
    if (byte == '"') quoted_head_ = !quoted_head_;
    if (delimiter_ == 0 && byte == '\n' && !quoted_head_) begin();
    if (delimiter_ == 0) {
      head_ += byte;
      if (head_.size() > kMostOfRecord) begin();
    } else {
      take(byte);
    }
  }
}

void DelimitedText::begin() {
  if (head_.starts_with(kByteOrderMark)) head_.erase(0, kByteOrderMark.size());
  delimiter_ = delimiter_of(head_);
  for (const char byte : head_) take(byte);
  head_.clear();
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
    end_cell();
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
  // Of a last line that has no end; inside of a quote this is another byte of its cell.
  if (bytes_ > 0) take('\n');
  if (state_ == State::quoted)
    throw input_error({}, "{}:{}: a quote that is not closed", file_, first_);
}

}  // namespace graphc::core
