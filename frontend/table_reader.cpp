// SPDX-License-Identifier: Apache-2.0
// Reads tables: from records of cells to columns of values.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "frontend/table_cells.h"
#include "frontend/table_layout.h"
#include "frontend/table_rows.h"
#include "ir/error.h"
#include "ir/spelling.h"
#include "ir/utf8.h"
#include "runtime/files/files.h"
#include "runtime/files/foreign.h"
#include "runtime/files/npy.h"
#include "runtime/files/text_encoding.h"

namespace graphc::core {
namespace {

using Cells = DelimitedText::Cells;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// So many records are seen before the layout is decided, of so many bytes at most.
constexpr size_t kFirstRecords = 1000, kFirstBytes = size_t{1} << 22;

/// The place of the column that is called so: by its name, else by its number.
size_t place_of(const std::string& wanted, const std::vector<std::string>& names,
                const std::string& file) {
  const auto found = std::ranges::find(names, wanted);
  if (found != names.end()) {
    if (std::find(found + 1, names.end(), wanted) == names.end())
      return size_t(found - names.begin());
    throw input_error({}, "{}: two columns are called '{}': wanted one by its number, from 1", file,
                      wanted);
  }
  size_t number = 0;
  const char* const end = wanted.data() + wanted.size();
  if (std::from_chars(wanted.data(), end, number).ptr == end && number >= 1 &&
      number <= names.size())
    return number - 1;
  const std::string near = did_you_mean(wanted, names);
  throw input_error({}, "{}: there is no column '{}'{}", file, wanted,
                    near.empty() ? fmt::format(": it has {}", fmt::join(names, ", ")) : near);
}

/// A column that is read: where it is, and how its cells are.
struct WantedColumn {
  std::string name;
  std::optional<ColumnKind> kind;  ///< nothing: as the first rows show
  DateOrder order = DateOrder::unknown;
  size_t place = 0;
  std::vector<std::string> categories{};
  std::unordered_map<std::string, size_t> ids{};  ///< of the categories
};

/// "time:date": the kind behind the last colon, unless a column has the whole as its name.
WantedColumn wanted_column(const std::string& text, const std::vector<std::string>& names) {
  WantedColumn wanted{.name = text, .kind = ColumnKind::number};
  const size_t colon = text.rfind(':');
  if (colon == text.npos || std::ranges::find(names, text) != names.end()) return wanted;
  const std::string kind = text.substr(colon + 1);
  if (kind == "category") {
    wanted.kind = ColumnKind::category;
  } else if (kind == "date" || kind == "date-dmy" || kind == "date-mdy") {
    wanted.kind = ColumnKind::date;
    if (kind == "date-dmy") wanted.order = DateOrder::day_first;
    if (kind == "date-mdy") wanted.order = DateOrder::month_first;
  } else if (kind != "number") {
    return wanted;
  }
  wanted.name = text.substr(0, colon);
  return wanted;
}

/// Takes the columns that are wanted out of records of cells.
class TableReader {
 public:
  TableReader(std::string file, const std::vector<std::string>& wanted, const TableOptions& options)
      : file_(std::move(file)), wanted_(wanted), options_(options), rows_(file_, options.missing) {}

  void take(const Cells& cells, int64_t line, char delimiter, bool spaces_too) {
    if (decided_) return take_row(cells, line);
    delimiter_ = delimiter;
    spaces_too_ = spaces_too && options_.decimal == 0;
    for (const std::string& cell : cells) bytes_ += cell.size();
    first_.emplace_back(cells, line);
    if (first_.size() >= kFirstRecords || bytes_ >= kFirstBytes) decide();
  }

  Table end() {
    if (!decided_) decide();
    if (rows_.read() == 0 && layout_.has_names)
      throw input_error({}, "{}: a line of names and no row", file_);
    for (size_t i = 0; i < columns_.size(); ++i) {
      TableColumn& column = rows_.column(i);
      column.name = columns_[i].name;
      column.kind = *columns_[i].kind;
      column.categories = std::move(columns_[i].categories);
    }
    return rows_.end(std::move(layout_.remarks));
  }

 private:
  void decide() {
    decided_ = true;
    // Empty lines at the end of a file are nothing.
    std::vector<TableRecord> records = std::move(first_);
    std::vector<TableRecord> filled;
    for (const TableRecord& record : records) {
      if (!is_empty(record.first)) filled.push_back(record);
    }
    if (filled.empty()) throw input_error({}, "{}: it is empty: wanted a table of numbers", file_);
    layout_ = layout_of(file_, filled, delimiter_, options_);
    width_ = filled[0].first.size();
    Cells names = filled[0].first;
    for (size_t i = 0; i < width_ && !layout_.has_names; ++i) names[i] = std::to_string(i + 1);
    choose_columns(names, filled);
    bool first = layout_.has_names;
    for (const auto& [cells, line] : records) {
      // The line of names.
      if (first && !is_empty(cells)) {
        first = false;
      } else {
        take_row(cells, line);
      }
    }
  }

  void choose_columns(const Cells& names, const std::vector<TableRecord>& records) {
    for (const std::string& text : wanted_) {
      columns_.push_back(wanted_column(text, names));
      columns_.back().place = place_of(columns_.back().name, names, file_);
    }
    for (size_t i = 0; wanted_.empty() && i < names.size(); ++i)
      columns_.push_back({.name = names[i], .kind = std::nullopt, .place = i});
    for (WantedColumn& each : columns_) look_at(each, records);
    rows_.begin(columns_.size());
  }

  /// Finds the kind of a column and the order of its dates, where they are not given.
  void look_at(WantedColumn& column, const std::vector<TableRecord>& records) {
    bool numbers = true, dates = true, some = false, strokes = false;
    DateOrder order = DateOrder::unknown;
    for (size_t i = layout_.has_names ? 1 : 0; i < records.size(); ++i) {
      const Cells& cells = records[i].first;
      if (column.place >= cells.size() || is_missing(cells[column.place])) continue;
      const std::string& cell = cells[column.place];
      some = true;
      numbers &= number_in(cell, layout_.decimal).has_value();
      dates &= is_date(cell);
      strokes |= cell.find('/') != cell.npos && !date_in(cell, DateOrder::unknown);
      const DateOrder shown = date_order_of(cell);
      if (shown != DateOrder::unknown) order = shown;
    }
    if (!column.kind) {
      column.kind = numbers         ? ColumnKind::number
                    : some && dates ? ColumnKind::date
                                    : ColumnKind::category;
    }
    if (column.kind != ColumnKind::date || column.order != DateOrder::unknown) return;
    column.order = order;
    if (order == DateOrder::unknown && strokes && dates) {
      throw input_error({},
                        "{}: column '{}': its dates may have the day first or the month: wanted "
                        "'{}:date-dmy' or '{}:date-mdy'",
                        file_, column.name, column.name, column.name);
    }
  }

  static bool is_empty(const Cells& cells) { return cells.size() == 1 && cells[0].empty(); }

  void take_row(const Cells& cells, int64_t line) {
    // At the end of a file it is nothing; in a table of one column it may be a missing cell.
    if (is_empty(cells)) return empty_.push_back(line);
    if (!empty_.empty()) {
      if (width_ > 1 || options_.missing == Missing::refuse)
        throw input_error({}, "{}:{}: an empty line: wanted numbers", file_, empty_[0]);
      for (const int64_t each : std::exchange(empty_, {})) take_cells({""}, each);
    }
    if (cells.size() != width_) {
      throw input_error({}, "{}:{}: {} cells: wanted {}, as in the first line{}", file_, line,
                        cells.size(), width_, comma_hint(cells));
    }
    take_cells(cells, line);
  }

  /// Whether commas that part cells may be decimal commas.
  std::string comma_hint(const Cells& cells) const {
    if (delimiter_ != ',' || cells.size() <= width_) return "";
    for (size_t i = 1; i < cells.size(); ++i) {
      const auto whole = [](std::string_view cell) {
        if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
        return !cell.empty() && cell.find_first_not_of("0123456789") == cell.npos;
      };
      if (!whole(cells[i - 1]) || !whole(cells[i])) continue;
      return fmt::format("; if '{},{}' is a number with a decimal comma, say --decimal=,",
                         cells[i - 1], cells[i]);
    }
    return "";
  }

  void take_cells(const Cells& cells, int64_t line) {
    std::vector<double> values;
    for (WantedColumn& each : columns_) values.push_back(value_of(cells[each.place], each, line));
    rows_.add(std::move(values));
  }

  double value_of(const std::string& cell, WantedColumn& column, int64_t line) {
    const bool category = column.kind == ColumnKind::category;
    if (category ? cell.empty() : is_missing(cell)) {
      if (options_.missing != Missing::refuse) return kNone;
      throw fault(column, line,
                  fmt::format("{}: wanted {}, or --missing=mean, previous, drop or mask",
                              cell.empty() ? "is empty" : fmt::format("has {}", cell),
                              category                          ? "a category"
                              : column.kind == ColumnKind::date ? "a date"
                                                                : "a number"));
    }
    if (category) {
      const auto [found, is_new] = column.ids.emplace(cell, column.ids.size());
      if (is_new) column.categories.push_back(cell);
      return double(found->second);
    }
    return column.kind == ColumnKind::date ? date_of(cell, column, line)
                                           : number_of(cell, column, line);
  }

  double date_of(const std::string& cell, const WantedColumn& column, int64_t line) const {
    if (const auto date = date_in(cell, column.order)) return *date;
    throw fault(column, line,
                fmt::format("has '{}': wanted a date such as 2024-01-31 13:00 or 31.01.2024{}",
                            printable(cell, 40),
                            is_date(cell) ? ", its parts in the order of the lines before" : ""));
  }

  double number_of(const std::string& cell, const WantedColumn& column, int64_t line) const {
    if (!layout_.decimal_is_known && decimal_sign_of(cell) == DecimalSign::either_comma) {
      throw fault(column, line,
                  fmt::format("has '{}', which may have a decimal comma or thousands apart: wanted "
                              "--decimal=, or --decimal=.",
                              printable(cell, 40)));
    }
    const std::optional<double> number = number_in(cell, layout_.decimal);
    if (number && spaces_too_ && cell.find(' ') != cell.npos) {
      throw fault(
          column, line,
          fmt::format("has '{}', thousands apart or two cells behind decimal commas: wanted "
                      "--decimal=. or --decimal=,",
                      printable(cell, 40)));
    }
    if (!number)
      throw fault(
          column, line,
          fmt::format("has '{}': wanted a number{}", printable(cell, 40), advice_on(cell, column)));
    if (std::isfinite(float(*number))) return *number;
    throw fault(column, line,
                fmt::format("has {}: wanted a finite number within f32", printable(cell, 40)));
  }

  /// What else the cell may be.
  std::string advice_on(const std::string& cell, const WantedColumn& column) const {
    const char other = layout_.decimal == '.' ? ',' : '.';
    if (number_in(cell, other))
      return fmt::format(" with a decimal {}, or --decimal={}",
                         layout_.decimal == '.' ? "point" : "comma", other);
    if (is_date(cell)) return fmt::format("; a date is asked for by '{}:date'", column.name);
    if (rows_.read() == 0 && !layout_.has_names)
      return "; or is it the line of names (--names=yes)?";
    return rows_.read() == 0
               ? fmt::format("; a category is asked for by '{}:category'", column.name)
               : "";
  }

  Error fault(const WantedColumn& column, int64_t line, const std::string& what) const {
    return input_error({}, "{}:{}: column '{}' {}", file_, line, column.name, what);
  }

  std::string file_;
  std::vector<std::string> wanted_;
  const TableOptions& options_;
  std::vector<TableRecord> first_;  ///< before the layout is decided
  size_t bytes_ = 0;                ///< of them
  char delimiter_ = ',';
  bool spaces_too_ = false;  ///< whether spaces might be the delimiter
  bool decided_ = false;
  TableLayout layout_;
  std::vector<WantedColumn> columns_;
  TableRows rows_;
  size_t width_ = 0;            ///< cells of a row
  std::vector<int64_t> empty_;  ///< lines that are empty, after which no other came yet
};

Table table_of(const Literal& array, const std::string& file,
               const std::vector<std::string>& wanted, const TableOptions& options) {
  const Shape& shape = array.shape();
  if (shape.rank() < 1 || shape.rank() > 2 || shape.elements() == 0) {
    throw input_error({}, "{}: an array {}: wanted numbers [rows] or [rows, columns]", file,
                      to_string(array.type()));
  }
  const int64_t rows = shape[0], width = shape.rank() == 1 ? 1 : shape[1];
  Cells names;
  for (int64_t i = 1; i <= width; ++i) names.push_back(std::to_string(i));
  std::vector<WantedColumn> columns;
  for (const std::string& text : wanted.empty() ? names : wanted) {
    columns.push_back(wanted_column(text, names));
    WantedColumn& column = columns.back();
    if (column.kind != ColumnKind::number)
      throw input_error({}, "{}: column '{}': an array has numbers only", file, text);
    column.place = place_of(column.name, names, file);
  }
  TableRows result(file, options.missing);
  result.begin(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) result.column(i).name = columns[i].name;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<double> values;
    for (const WantedColumn& column : columns) {
      const double number = array.element(row * width + int64_t(column.place));
      const bool missing = std::isnan(number) && options.missing != Missing::refuse;
      if (!missing && !std::isfinite(float(number))) {
        throw input_error({}, "{}: row {} of column {} is {}: wanted a finite number within f32",
                          file, row + 1, column.place + 1, number);
      }
      values.push_back(number);
    }
    result.add(std::move(values));
  }
  return result.end({});
}

}  // namespace

Table read_table(const std::filesystem::path& path, const std::vector<std::string>& columns,
                 const TableOptions& options) {
  const std::string file = path.string();
  if (options.decimal != 0 && options.decimal != '.' && options.decimal != ',') {
    throw Error(ErrorKind::usage, {},
                fmt::format("numbers have a decimal . or ,: found '{}'", options.decimal));
  }
  if (options.piece < 1)
    throw Error(ErrorKind::usage, {}, "a table is read in pieces of at least 1 byte: found 0");
  if (path.extension() == ".npy") return table_of(read_npy(path), file, columns, options);
  TableReader reader(file, columns, options);
  DelimitedText text(
      file,
      [&](const Cells& cells, int64_t line) {
        reader.take(cells, line, text.delimiter(), text.has_spaces_as_often());
      },
      options.decimal == ',');
  TextDecoder decoder(file, options.encoding);
  bool first = true;
  read_pieces(path, options.piece, [&](std::string_view bytes) {
    if (std::exchange(first, false)) refuse_foreign(bytes, path, Wanted::table);
    text.add(decoder.add(bytes));
  });
  text.add(decoder.end());
  text.end();
  return reader.end();
}

}  // namespace graphc::core
