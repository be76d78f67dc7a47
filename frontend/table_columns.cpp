// SPDX-License-Identifier: Apache-2.0
// Finds the requested columns and their kinds.
#include "frontend/table_columns.h"

#include <algorithm>
#include <charconv>

#include "ir/error.h"
#include "ir/spelling.h"

namespace graphc::core {
namespace {

/// The text as a number in [1, most].
std::optional<size_t> number_of_column(const std::string& text, size_t most) {
  size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < 1 || number > most) return std::nullopt;
  return number;
}

bool is_whole_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

/// The index of a column, by its name or else by its number.
size_t place_of(const std::string& wanted, const ColumnNames& columns, const std::string& file) {
  const std::vector<std::string>& names = columns.names;
  // If the names are numbers such as 0, 1, 2, a number is a name, and an unknown one is an error.
  const bool by_number = columns.are_numbers || std::ranges::none_of(names, is_whole_number);
  const auto found = std::ranges::find(names, wanted);
  if (found != names.end()) {
    if (std::find(found + 1, names.end(), wanted) == names.end())
      return size_t(found - names.begin());
    throw input_error({}, "{}: two columns are called '{}': wanted {}", file, wanted,
                      by_number ? "one by its number, from 1" : "names that differ");
  }
  const auto number = number_of_column(wanted, names.size());
  if (number && by_number) return *number - 1;
  const std::string near = did_you_mean(wanted, names);
  std::string it_has = near.empty() ? fmt::format(": it has {}", fmt::join(names, ", ")) : near;
  if (number) it_has += "; its names are numbers, so that a number is no place";
  throw input_error({}, "{}: there is no column '{}'{}", file, wanted, it_has);
}

/// "time:date": the kind follows the last colon, unless the whole text is the name of a column.
WantedColumn wanted_column(const std::string& text, const std::vector<std::string>& names) {
  WantedColumn wanted{.name = text, .kind = ColumnKind::number, .is_declared = true};
  const size_t colon = text.rfind(':');
  if (colon == text.npos || std::ranges::find(names, text) != names.end()) return wanted;
  const std::string kind = text.substr(colon + 1);
  if (kind == "category") {
    wanted.kind = ColumnKind::category;
  } else if (kind == "date" || kind == "date-dmy" || kind == "date-mdy") {
    wanted.kind = ColumnKind::date;
    if (kind == "date-dmy") wanted.order = DateOrder::declared_day_first;
    if (kind == "date-mdy") wanted.order = DateOrder::declared_month_first;
  } else if (kind != "number") {
    return wanted;
  }
  wanted.name = text.substr(0, colon);
  return wanted;
}

}  // namespace

std::vector<WantedColumn> wanted_columns(const std::vector<std::string>& wanted,
                                         const ColumnNames& names, const std::string& file) {
  std::vector<WantedColumn> columns;
  for (const std::string& text : wanted) {
    columns.push_back(wanted_column(text, names.names));
    WantedColumn& column = columns.back();
    column.place = place_of(column.name, names, file);
    const auto twice = std::ranges::find(columns, column.place, &WantedColumn::place);
    if (&*twice == &column) continue;
    throw input_error({}, "{}: '{}' and '{}' are the same column: wanted it once", file,
                      wanted[size_t(twice - columns.begin())], text);
  }
  for (size_t i = 0; wanted.empty() && i < names.names.size(); ++i)
    columns.push_back({.name = names.names[i], .kind = std::nullopt, .place = i});
  return columns;
}

void look_at(WantedColumn& column, const std::vector<TableRecord>& rows, char decimal,
             const std::string& file) {
  size_t numbers = 0, dates = 0, texts = 0;
  bool is_open = false;
  DateOrder order = DateOrder::unknown;
  for (const auto& [cells, line] : rows) {
    if (column.place >= cells.size() || is_missing(cells[column.place])) continue;
    const std::string& cell = cells[column.place];
    if (number_in(cell, decimal)) {
      ++numbers;
    } else if (is_date(cell)) {
      ++dates;
      is_open |= !date_in(cell, DateOrder::unknown);
    } else {
      ++texts;
    }
    const DateOrder shown = date_order_of(cell);
    if (shown != DateOrder::unknown) order = shown;
  }
  if (!column.kind) {
    column.kind = numbers >= std::max(dates, texts) ? ColumnKind::number
                  : dates >= texts                  ? ColumnKind::date
                                                    : ColumnKind::category;
  }
  if (column.kind != ColumnKind::date || column.order != DateOrder::unknown) return;
  column.order = order;
  if (order == DateOrder::unknown && is_open && numbers + texts == 0) {
    throw input_error({},
                      "{}: column '{}': its dates may have the day first or the month: wanted "
                      "'{}:date-dmy' or '{}:date-mdy'",
                      file, column.name, column.name, column.name);
  }
}

}  // namespace graphc::core
