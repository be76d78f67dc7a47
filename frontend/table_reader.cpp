// SPDX-License-Identifier: Apache-2.0
// Reads tables: converts records of cells to columns of values.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "frontend/table_cells.h"
#include "frontend/table_columns.h"
#include "frontend/table_layout.h"
#include "frontend/table_rows.h"
#include "frontend/table_words.h"
#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/files/files.h"
#include "runtime/files/foreign.h"
#include "runtime/files/npy.h"
#include "runtime/files/text_encoding.h"

namespace graphc::core {
namespace {

using Cells = DelimitedText::Cells;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// The layout is decided after this many records or bytes.
constexpr size_t kFirstRecords = 1000, kFirstBytes = size_t{1} << 22;

/// Extracts the requested columns from records of cells.
class TableReader {
 public:
  TableReader(std::string file, const std::vector<std::string>& wanted, const TableOptions& options)
      : file_(std::move(file)),
        wanted_(wanted),
        options_(options),
        words_(options.words),
        rows_(file_, options.missing) {}

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
    remark_points();
    return rows_.end(std::move(layout_.remarks));
  }

 private:
  void decide() {
    decided_ = true;
    // Empty lines at the end of a file are ignored.
    std::vector<TableRecord> records = std::move(first_);
    std::vector<TableRecord> filled;
    for (const TableRecord& record : records) {
      if (!is_empty(record.first)) filled.push_back(record);
    }
    if (filled.empty()) throw input_error({}, "{}: it is empty: wanted a table of numbers", file_);
    layout_ = layout_of(file_, filled, delimiter_, options_);
    width_ = filled[0].first.size();
    ColumnNames names{.names = filled[0].first, .are_numbers = !layout_.has_names};
    for (size_t i = 0; i < width_ && names.are_numbers; ++i) names.names[i] = std::to_string(i + 1);
    columns_ = wanted_columns(wanted_, names, file_);
    if (layout_.has_names) filled.erase(filled.begin());
    for (WantedColumn& each : columns_) look_at(each, filled, layout_.decimal, file_);
    rows_.begin(columns_.size());
    bool first = layout_.has_names;
    for (const auto& [cells, line] : records) {
      // The line of column names.
      if (first && !is_empty(cells)) {
        first = false;
      } else {
        take_row(cells, line);
      }
    }
  }

  static bool is_empty(const Cells& cells) { return cells.size() == 1 && cells[0].empty(); }

  void take_row(const Cells& cells, int64_t line) {
    // Ignored at the end of a file; in a table with one column it may be a missing cell.
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
    if (layout_.may_be_split) check_not_split(file_, {cells, line}, options_);
    take_cells(cells, line);
  }

  /// Suggests that the separating commas are decimal commas.
  std::string comma_hint(const Cells& cells) const {
    if (delimiter_ != ',' || cells.size() <= width_) return "";
    for (size_t i = 1; i < cells.size(); ++i) {
      const auto whole = [](std::string_view cell) {
        if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
        return !cell.empty() && cell.find_first_not_of("0123456789") == cell.npos;
      };
      if (!whole(cells[i - 1]) || !whole(cells[i])) continue;
      return fmt::format("; if '{},{}' is a number with a decimal comma, say {}", cells[i - 1],
                         cells[i], words_.decimal(','));
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
      throw fault(
          column, line,
          fmt::format("{}: wanted {}{}", cell.empty() ? "is empty" : fmt::format("has {}", cell),
                      category                          ? "a category"
                      : column.kind == ColumnKind::date ? "a date"
                                                        : "a number",
                      words_.missing(*column.kind)));
    }
    if (category) {
      check_category(cell, column, line);
      const auto [found, is_new] = column.ids.emplace(cell, column.ids.size());
      if (is_new) column.categories.push_back(cell);
      return double(found->second);
    }
    return column.kind == ColumnKind::date ? date_of(cell, column, line)
                                           : number_of(cell, column, line);
  }

  /// A detected category may contain only texts.
  void check_category(const std::string& cell, const WantedColumn& column, int64_t line) const {
    if (column.is_declared || is_missing(cell)) return;
    const bool number = number_in(cell, '.') || number_in(cell, ',');
    if (!number && !is_date(cell)) return;
    throw fault(column, line,
                fmt::format("has '{}', a {} among texts: wanted one kind{}", printable(cell, 40),
                            number ? "number" : "date", naming(column)));
  }

  /// How to request a column with cells of different kinds.
  std::string naming(const WantedColumn& column) const {
    if (column.is_declared || !words_.is_program()) return "";
    return fmt::format(", or the columns by name, '{}:category' among them", column.name);
  }

  double date_of(const std::string& cell, const WantedColumn& column, int64_t line) const {
    if (const auto date = date_in(cell, column.order)) return *date;
    std::string advice;
    if (is_date(cell)) {
      advice = fmt::format(
          ", its parts in the order of the lines before, or '{}:date-dmy' or "
          "'{}:date-mdy'",
          column.name, column.name);
    } else if (date_in(cell, DateOrder::declared_month_first)) {
      advice = fmt::format("; the month first is '{}:date-mdy'", column.name);
    }
    throw fault(column, line,
                fmt::format("has '{}': wanted a date such as 2024-01-31 13:00 or 31.01.2024{}{}",
                            printable(cell, 40), advice, naming(column)));
  }

  double number_of(const std::string& cell, WantedColumn& column, int64_t line) {
    if (!layout_.decimal_is_known) watch_points(cell, column, line);
    const std::optional<double> number = number_in(cell, layout_.decimal);
    if (number && spaces_too_ && cell.find(' ') != cell.npos) {
      throw fault(
          column, line,
          fmt::format("has '{}', thousands apart or two cells behind decimal commas: wanted {}",
                      printable(cell, 40), words_.either_decimal()));
    }
    if (!number)
      throw fault(column, line,
                  fmt::format("has '{}': wanted a number{}{}", printable(cell, 40),
                              advice_on(cell, column), naming(column)));
    if (std::isfinite(float(*number))) return *number;
    throw fault(column, line,
                fmt::format("has {}: wanted a finite number within f32", printable(cell, 40)));
  }

  /// If the first rows did not show the decimal separator, a later row may.
  void watch_points(const std::string& cell, WantedColumn& column, int64_t line) {
    const DecimalSign sign = decimal_sign_of(cell);
    if (sign == DecimalSign::either_comma) {
      throw fault(column, line,
                  fmt::format("has '{}', which may have a decimal comma or thousands apart: wanted "
                              "{}",
                              printable(cell, 40), words_.either_decimal()));
    }
    points_are_known_ |= sign == DecimalSign::point;
    column.has_wholes |= cell.size() <= 3 && cell.find_first_not_of("0123456789") == cell.npos;
    if (sign != DecimalSign::either_point) return;
    column.has_points = true;
    if (open_point_.empty())
      open_point_ = fmt::format("'{}' in line {}", printable(cell, 40), line);
  }

  /// 1.234 is read with a decimal point. If the column also has integers below 1000 without one, it
  /// may be a thousands separator: fractions would be written in every cell.
  void remark_points() {
    if (layout_.decimal_is_known || points_are_known_ || open_point_.empty()) return;
    const auto has_both = [](const WantedColumn& each) {
      return each.has_wholes && each.has_points;
    };
    if (delimiter_ != ';' && std::ranges::none_of(columns_, has_both)) return;
    layout_.remarks.push_back(
        fmt::format("{}: {} is read as a decimal point; if it parts thousands, say {}", file_,
                    open_point_, words_.decimal(',')));
  }

  /// Other ways to read the cell.
  std::string advice_on(const std::string& cell, const WantedColumn& column) const {
    const char other = layout_.decimal == '.' ? ',' : '.';
    if (number_in(cell, other))
      return fmt::format(" with a decimal {}, or {}", layout_.decimal == '.' ? "point" : "comma",
                         words_.decimal(other));
    if (is_date(cell)) return fmt::format("; a date is asked for by '{}:date'", column.name);
    if (rows_.read() == 0 && !layout_.has_names)
      return fmt::format("; or is it the line of names ({})?", words_.names(true));
    return rows_.read() == 0 && column.is_declared
               ? fmt::format("; a category is asked for by '{}:category'", column.name)
               : "";
  }

  Error fault(const WantedColumn& column, int64_t line, const std::string& what) const {
    return input_error({}, "{}:{}: column '{}' {}", file_, line, column.name, what);
  }

  std::string file_;
  std::vector<std::string> wanted_;
  const TableOptions& options_;
  TableWords words_;
  std::vector<TableRecord> first_;  ///< until the layout is decided
  size_t bytes_ = 0;                ///< their size
  char delimiter_ = ',';
  bool spaces_too_ = false;  ///< whether space may be the delimiter
  bool decided_ = false;
  TableLayout layout_;
  bool points_are_known_ = false;  ///< a cell that was read shows it
  std::string open_point_;         ///< the first cell that may have thousands, and its line
  std::vector<WantedColumn> columns_;
  TableRows rows_;
  size_t width_ = 0;            ///< cells per row
  std::vector<int64_t> empty_;  ///< empty lines since the last non-empty one
};

Table table_of(const Literal& array, const std::string& file,
               const std::vector<std::string>& wanted, const TableOptions& options) {
  const Shape& shape = array.shape();
  if (shape.rank() < 1 || shape.rank() > 2 || shape.elements() == 0) {
    throw input_error({}, "{}: an array {}{}: wanted numbers [rows] or [rows, columns]", file,
                      to_string(array.type()), shape.elements() == 0 ? ", which is empty" : "");
  }
  const int64_t rows = shape[0], width = shape.rank() == 1 ? 1 : shape[1];
  ColumnNames names{.names = {}, .are_numbers = true};
  for (int64_t i = 1; i <= width; ++i) names.names.push_back(std::to_string(i));
  const std::vector<WantedColumn> columns = wanted_columns(wanted, names, file);
  for (const WantedColumn& column : columns) {
    if (column.kind.value_or(ColumnKind::number) == ColumnKind::number) continue;
    throw input_error({}, "{}: column '{}': an array has numbers only", file, column.name);
  }
  const TableWords words(options.words);
  TableRows result(file, options.missing);
  result.begin(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) result.column(i).name = columns[i].name;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<double> values;
    for (const WantedColumn& column : columns) {
      const double number = array.element(row * width + int64_t(column.place));
      const bool missing = std::isnan(number) && options.missing != Missing::refuse;
      if (!missing && !std::isfinite(float(number))) {
        throw input_error({}, "{}: row {} of column {} is {}: wanted a finite number within f32{}",
                          file, row + 1, column.place + 1, number,
                          std::isnan(number) ? words.missing(ColumnKind::number) : "");
      }
      values.push_back(number);
    }
    result.add(std::move(values));
  }
  return result.end({});
}

/// Holds back trailing Ctrl-Z characters, with which DOS ends a text: at the end of the file they
/// are ignored.
void add_without_end_marks(DelimitedText& text, std::string_view piece, size_t& marks) {
  constexpr char kMark = '\x1a';
  const size_t last = piece.find_last_not_of(kMark);
  if (last != piece.npos) {
    text.add(std::string(std::exchange(marks, 0), kMark));
    text.add(piece.substr(0, last + 1));
    piece.remove_prefix(last + 1);
  }
  marks += piece.size();
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
  TextDecoder decoder(file, options.encoding, options.words);
  size_t marks = 0;
  const auto add = [&](std::string_view piece) { add_without_end_marks(text, piece, marks); };
  bool first = true;
  read_pieces(path, options.piece, [&](std::string_view bytes) {
    if (std::exchange(first, false)) refuse_foreign(bytes, path, Wanted::table);
    add(decoder.add(bytes));
  });
  add(decoder.end());
  text.end();
  return reader.end();
}

}  // namespace graphc::core
