// SPDX-License-Identifier: Apache-2.0
// Tables: columns of numbers, dates and categories, read from delimited text or a NumPy array.
//
//   const Table table = read_table("load.csv", {"load", "time:date", "site:category"});
//   session("train", table.f32({"load"}), ...);
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/option_words.h"
#include "runtime/tensor.h"

namespace graphc::core {

/// The kind of a column's cells.
enum class ColumnKind : uint8_t { number, date, category };

/// What to do with a missing cell.
enum class Missing : uint8_t {
  refuse,    ///< an error that names its line
  mean,      ///< for numbers: the mean of the column
  previous,  ///< the value of the previous row; for leading rows, the first value
  drop,      ///< leave out the row
  mask,      ///< NaN; Table::known() tells where there are values
};

/// Conversion to and from the words "refuse", "mean", "previous", "drop", "mask". missing_of()
/// throws ErrorKind::usage for other words.
Missing missing_of(std::string_view word);
std::string_view name_of(Missing missing);

/// Options of read_table().
struct TableOptions {
  std::string encoding;       ///< of text, a name known to iconv; empty: UTF-8
  char decimal = 0;           ///< the decimal separator, . or ,; 0: detect
  std::optional<bool> names;  ///< whether the first line has column names; empty: detect
  Missing missing = Missing::refuse;
  size_t piece = size_t{1} << 20;  ///< bytes of the file to read at once; at least 1
  /// The words with which messages name these options.
  OptionWords words = OptionWords::program;
};

/// A column: one value per row, NaN for missing cells (Missing::mask).
struct TableColumn {
  std::string name;  ///< as requested, without its kind
  ColumnKind kind = ColumnKind::number;
  /// Numbers; for dates, seconds since 1970-01-01 00:00 in the local time of the file; for
  /// categories, indices into `categories`.
  std::vector<double> values;
  std::vector<std::string> categories;  ///< in order of first occurrence
};

/// Columns of equal length.
class Table {
 public:
  std::vector<TableColumn> columns;
  /// Lines on what was assumed, and on the number of missing cells.
  std::vector<std::string> remarks;
  std::string file;  ///< its name in errors

  int64_t rows() const { return columns.empty() ? 0 : int64_t(columns[0].values.size()); }
  /// The column with that name. Throws ErrorKind::input if there is none, or more than one.
  const TableColumn& operator[](std::string_view name) const;
  /// These columns, or all, as f32[rows, columns]. Dates and categories must be requested by name;
  /// their elements are those of `values`. Throws ErrorKind::input if a column that was not
  /// requested by name is not a column of numbers, and for a column that f32 rounds by more than a
  /// thousandth of its standard deviation, such as seconds since 1970.
  Tensor f32(const std::vector<std::string>& names = {}) const;
  /// f32[rows, columns]: 1 where these columns, or all, have a value, 0 where it is missing.
  Tensor known(const std::vector<std::string>& names = {}) const;

 private:
  std::vector<const TableColumn*> chosen(const std::vector<std::string>& names) const;
};

/// Reads columns of a file: delimited text, or .npy of shape [rows] or [rows, columns].
///
/// `columns` are names, or numbers from 1 if no name is a number. A kind other than number follows
/// a colon: "time:date", "site:category". If dates such as 03/04/2024 are ambiguous, :date-dmy or
/// :date-mdy gives the order, also for dates with points or hyphens. By default all columns are
/// read, each as the most frequent kind in its first 1000 rows; a cell of another kind is an error
/// wherever it occurs, a number among texts included.
///
/// Text: the cell separator is the one of tab, semicolon, |, comma and space that occurs equally
/// often in all of the first lines, or the one that a line `sep=;` above them names. Cells may be
/// quoted (RFC 4180). The first line has the column names if none of its cells is a number or a
/// date, or if in some column its kind differs from the cells below: `load,2024` above `1.5,3` are
/// names; `,0,1,2` are those of a pandas frame. An ambiguous first line is an error that asks for
/// `names`. Numbers have a decimal point, or a comma if cells show it (1,5 between semicolons),
/// with or without thousands separators; if 1,234 is ambiguous, an error asks for `decimal`.
/// Missing cells are empty, NA, N/A, #N/A, <NA>, NaN, -NaN, null, None (in any case) or ?; for
/// categories only empty cells are missing. Columns that are not requested are not examined. The
/// text is read in pieces, so memory holds only the values. A Ctrl-Z at its end is ignored.
///
/// Throws ErrorKind::input, naming file, line and column, for: an unknown column, a column whose
/// name is ambiguous or that is requested twice, a missing cell (Missing::refuse), a cell of the
/// wrong kind, a number that is not finite or beyond f32, a row with another number of cells than
/// the first, an empty line before the last row, a table without rows, and a file of another format
/// or encoding.
Table read_table(const std::filesystem::path& path, const std::vector<std::string>& columns = {},
                 const TableOptions& options = {});

}  // namespace graphc::core
