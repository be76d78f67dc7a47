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

/// What the cells of a column are.
enum class ColumnKind : uint8_t { number, date, category };

/// What becomes of a cell without a value.
enum class Missing : uint8_t {
  refuse,    ///< an error that names its line
  mean,      ///< a number: the mean of its column
  previous,  ///< the value of the row before; the first one where there is none before
  drop,      ///< the row is left out
  mask,      ///< NaN; Table::known() says where there are values
};

/// The word of each: "refuse", "mean", "previous", "drop", "mask". missing_of() throws
/// ErrorKind::usage for another word.
Missing missing_of(std::string_view word);
std::string_view name_of(Missing missing);

/// How a table is read.
struct TableOptions {
  std::string encoding;       ///< of a text, a name that iconv knows; UTF-8 if empty
  char decimal = 0;           ///< before the fraction of numbers: . or ,; 0: as the table shows
  std::optional<bool> names;  ///< whether the first line has names; as the table shows if absent
  Missing missing = Missing::refuse;
  size_t piece = size_t{1} << 20;  ///< bytes of the file that are read at once; at least 1
  /// How messages name these options.
  OptionWords words = OptionWords::program;
};

/// A column: a value for each row, NaN where there is none (Missing::mask).
struct TableColumn {
  std::string name;  ///< as it was asked for, without its kind
  ColumnKind kind = ColumnKind::number;
  /// Numbers; of dates seconds from 1970-01-01 00:00 by the clock that wrote them; of categories
  /// places in `categories`.
  std::vector<double> values;
  std::vector<std::string> categories;  ///< as they first come
};

/// Columns of equal length.
class Table {
 public:
  std::vector<TableColumn> columns;
  /// Lines on what was taken for granted, and how many cells were missing.
  std::vector<std::string> remarks;
  std::string file;  ///< what errors call it

  int64_t rows() const { return columns.empty() ? 0 : int64_t(columns[0].values.size()); }
  /// The column of that name. Throws ErrorKind::input where there is none, or more than one.
  const TableColumn& operator[](std::string_view name) const;
  /// These columns, or all of them, as f32[rows, columns]. Of a date or a category it has what
  /// `values` has, where the column is named; without names all are columns of numbers. Throws
  /// ErrorKind::input where they are not, and for a column that f32 rounds by more than a
  /// thousandth of its deviation: seconds since 1970, for one.
  Tensor f32(const std::vector<std::string>& names = {}) const;
  /// f32[rows, columns] of 1 where these columns, or all, have a value, and 0 where they have none.
  Tensor known(const std::vector<std::string>& names = {}) const;

 private:
  std::vector<const TableColumn*> chosen(const std::vector<std::string>& names) const;
};

/// Reads columns of a file: delimited text, or .npy of shape [rows] or [rows, columns].
///
/// `columns` are names, or numbers from 1 where no name is a number, each with a kind behind a
/// colon where it is no column of numbers: "time:date", "site:category". Where dates such as
/// 03/04/2024 leave it open, :date-dmy or :date-mdy says the order, for dates between points and
/// hyphens too. Without any, all columns are read, as the kind that most cells of their first 1000
/// rows are; one of another kind is an error wherever it stands, a number among texts too.
///
/// Text: cells are separated by the one of tab, semicolon, |, comma and space that every one of the
/// first lines has as often, or by what a line `sep=;` above them says, and may be in quotes (RFC
/// 4180). The first line has the names if no cell of it is a number or a date, or if in some column
/// it is another kind than what is below: `load,2024` above `1.5,3` are names; `,0,1,2` are those
/// of a pandas frame. A table whose first line may be either is an error that asks for `names`.
/// Numbers have a decimal point, or a comma where cells show it (1,5 between semicolons), and
/// thousands apart or not; where 1,234 may be either, an error asks for `decimal`. Missing are
/// cells that are empty, NA, N/A, #N/A, <NA>, NaN, -NaN, null, None (in any case) or ?; of
/// categories only empty ones. What columns that are not asked for have is not looked at. The text
/// is read in pieces: memory is needed for the values alone. A Ctrl-Z at its end is nothing.
///
/// Throws ErrorKind::input, naming file, line and column: an unknown column, one whose name comes
/// twice or that is asked for twice, a missing cell (Missing::refuse), a cell that is not of its
/// column's kind, a number that is not finite or beyond f32, a row with another number of cells
/// than the first, an empty line before the last row, a table without rows, and a file of another
/// format or encoding.
Table read_table(const std::filesystem::path& path, const std::vector<std::string>& columns = {},
                 const TableOptions& options = {});

}  // namespace graphc::core
