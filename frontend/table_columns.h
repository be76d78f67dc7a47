// SPDX-License-Identifier: Apache-2.0
// The columns of a table to read: which they are, and the kinds of their cells.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/table_cells.h"
#include "frontend/table_layout.h"

namespace graphc::core {

/// A column to read: its position and the properties of its cells.
struct WantedColumn {
  std::string name;
  std::optional<ColumnKind> kind;  ///< empty: detect from the first rows
  /// Whether the user gave the kind. A category that was only detected contains no number or date.
  bool is_declared = false;
  DateOrder order{};
  size_t place = 0;
  std::vector<std::string> categories{};
  std::unordered_map<std::string, size_t> ids{};  ///< of the categories
  /// Whether it has integers below 1000, and numbers such as 1.234.
  bool has_wholes = false, has_points = false;
};

/// The names of a table's columns, and whether columns can be requested by number.
struct ColumnNames {
  std::vector<std::string> names;
  bool are_numbers = false;  ///< the table has no names
};

/// The requested columns in that order; all if none is requested. Throws ErrorKind::input, naming
/// the file, for a column that is missing or ambiguous. A number is the position of a column, from
/// 1, if no name is a number.
std::vector<WantedColumn> wanted_columns(const std::vector<std::string>& wanted,
                                         const ColumnNames& names, const std::string& file);

/// Detects the kind of a column and the order of its dates, if not given, from the first rows: the
/// most frequent kind. Throws ErrorKind::input if the order of dates is ambiguous.
void look_at(WantedColumn& column, const std::vector<TableRecord>& rows, char decimal,
             const std::string& file);

}  // namespace graphc::core
