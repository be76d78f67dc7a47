// SPDX-License-Identifier: Apache-2.0
#include "frontend/table_layout.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "frontend/table_cells.h"
#include "frontend/table_words.h"
#include "ir/error.h"
#include "ir/utf8.h"

namespace graphc::core {
namespace {

enum class CellKind { missing, number, date, text };

CellKind cell_kind_of(const std::string& cell, char decimal) {
  if (is_missing(cell)) return CellKind::missing;
  // INF is a name in the first line, and an error elsewhere.
  if (const auto number = number_in(cell, decimal); number && std::isfinite(*number))
    return CellKind::number;
  return is_date(cell) ? CellKind::date : CellKind::text;
}

bool is_digits(std::string_view cell) {
  return !cell.empty() &&
         std::ranges::all_of(cell, [](unsigned char c) { return std::isdigit(c); });
}

/// Digits, optionally with a sign and grouped.
bool is_whole(const std::string& cell) {
  return cell.find_first_of(".,eE") == cell.npos && cell_kind_of(cell, '.') == CellKind::number;
}

/// Whether the cells form pairs of integers, the second without a sign.
bool may_be_halves(const DelimitedText::Cells& cells) {
  for (size_t i = 0; i + 1 < cells.size(); i += 2) {
    if (!is_whole(cells[i]) || !is_digits(cells[i + 1])) return false;
  }
  return cells.size() % 2 == 0;
}

class LayoutFinder {
 public:
  LayoutFinder(const std::string& file, const std::vector<TableRecord>& records, char delimiter,
               const TableOptions& options)
      : file_(file),
        records_(records),
        delimiter_(delimiter),
        options_(options),
        words_(options.words) {}

  TableLayout find() {
    find_decimal();
    result_.has_names = options_.names ? *options_.names : first_line_is_names();
    if (!result_.has_names && !options_.names) warn_of_split_numbers();
    return std::move(result_);
  }

 private:
  /// From all records but the first, which may be names.
  void find_decimal() {
    if (options_.decimal != 0) {
      result_.decimal = options_.decimal;
      result_.decimal_is_known = true;
      return;
    }
    std::optional<std::string> found[5];
    for (size_t i = records_.size() > 1 ? 1 : 0; i < records_.size(); ++i) {
      for (const std::string& cell : records_[i].first) {
        const DecimalSign sign = decimal_sign_of(cell);
        if (auto& first = found[size_t(sign)]; sign != DecimalSign::none && !first) {
          first = fmt::format("'{}' in line {}", printable(cell, 40), records_[i].second);
        }
      }
    }
    const auto& point = found[size_t(DecimalSign::point)];
    const auto& comma = found[size_t(DecimalSign::comma)];
    const auto& either_comma = found[size_t(DecimalSign::either_comma)];
    if (point && comma) {
      throw input_error({},
                        "{}: numbers with a decimal point and with a decimal comma: {} and {}: "
                        "wanted one of them, or {} to decide",
                        file_, *point, *comma, words_.either_decimal());
    }
    if (!point && !comma && either_comma) {
      throw input_error({}, "{}: {} may have a decimal comma or thousands apart: wanted {}", file_,
                        *either_comma, words_.either_decimal());
    }
    result_.decimal_is_known = point || comma;
    if (comma) {
      result_.decimal = ',';
      result_.remarks.push_back(
          fmt::format("{}: numbers have decimal commas, as {} shows", file_, *comma));
    }
  }

  bool first_line_is_names() {
    const DelimitedText::Cells& first = records_[0].first;
    size_t numbers = 0, dates = 0, texts = 0;
    for (const std::string& cell : first) {
      const CellKind kind = cell_kind_of(cell, result_.decimal);
      numbers += kind == CellKind::number;
      dates += kind == CellKind::date;
      texts += kind == CellKind::text;
    }
    if (numbers + dates == 0 && texts > 0) return true;
    if (numbers + dates + texts == 0) {
      throw undecided(
          fmt::format("'{}' may be a name or a missing value", printable(first[0], 40)));
    }
    if (is_numbered_header()) return remark_names();
    const bool differs = first_differs_from_column();
    if (differs) return remark_names();
    if (texts == 0) return false;
    throw undecided("it has numbers and texts, and so have the lines behind it");
  }

  /// `,0,1,2` as pandas writes a frame with unnamed columns.
  bool is_numbered_header() const {
    const DelimitedText::Cells& first = records_[0].first;
    if (first.size() < 2 || !first[0].empty() || records_.size() < 2) return false;
    for (size_t i = 1; i < first.size(); ++i) {
      if (first[i] != std::to_string(i - 1)) return false;
    }
    return !records_[1].first[0].empty();
  }

  /// Whether a text is above numbers or dates, or a date above a number or vice versa.
  bool first_differs_from_column() const {
    const DelimitedText::Cells& first = records_[0].first;
    for (size_t column = 0; column < first.size(); ++column) {
      const CellKind above = cell_kind_of(first[column], result_.decimal);
      if (above == CellKind::missing) continue;
      for (size_t i = 1; i < records_.size(); ++i) {
        if (column >= records_[i].first.size()) continue;
        const CellKind below = cell_kind_of(records_[i].first[column], result_.decimal);
        if (below == CellKind::missing) continue;
        if (above != below && below != CellKind::text) return true;
        break;
      }
    }
    return false;
  }

  bool remark_names() {
    const DelimitedText::Cells& first = records_[0].first;
    const auto odd = std::ranges::find_if(first, [&](const std::string& cell) {
      const CellKind kind = cell_kind_of(cell, result_.decimal);
      return kind == CellKind::number || kind == CellKind::date;
    });
    result_.remarks.push_back(
        fmt::format("{}: the first line is read as names, '{}' too; {} says that it is a row",
                    file_, printable(*odd, 40), words_.names(false)));
    return true;
  }

  Error undecided(const std::string& why) const {
    return input_error({}, "{}:{}: the first line may be names or a row: {}: wanted {} or {}",
                       file_, records_[0].second, why, words_.names(true), words_.names(false));
  }

  /// `1,5` may be one number, or two cells of CSV.
  void warn_of_split_numbers() {
    if (delimiter_ != ',' || options_.decimal != 0) return;
    result_.may_be_split = std::ranges::all_of(
        records_, [](const TableRecord& record) { return may_be_halves(record.first); });
    if (!result_.may_be_split) return;
    for (const TableRecord& record : records_) check_not_split(file_, record, options_);
    if (records_[0].first.size() > 2) return;
    result_.remarks.push_back(
        fmt::format("{}: two columns of whole numbers without names; if they are one of decimal "
                    "commas, say {}",
                    file_, words_.decimal(',')));
  }

  const std::string& file_;
  const std::vector<TableRecord>& records_;
  char delimiter_;
  const TableOptions& options_;
  TableWords words_;
  TableLayout result_;
};

}  // namespace

TableLayout layout_of(const std::string& file, const std::vector<TableRecord>& records,
                      char delimiter, const TableOptions& options) {
  return LayoutFinder(file, records, delimiter, options).find();
}

void check_not_split(const std::string& file, const TableRecord& row, const TableOptions& options) {
  const auto& [cells, line] = row;
  if (!may_be_halves(cells)) return;
  // The only integer that begins with 0 is 0.
  for (size_t i = 1; i < cells.size(); i += 2) {
    if (cells[i].size() < 2 || cells[i][0] != '0') continue;
    throw input_error({},
                      "{}:{}: '{},{}' looks like a number with a decimal comma, not like two "
                      "columns: wanted {}",
                      file, line, printable(cells[i - 1], 40), printable(cells[i], 40),
                      TableWords(options.words).either_decimal());
  }
}

}  // namespace graphc::core
