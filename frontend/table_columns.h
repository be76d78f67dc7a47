// SPDX-License-Identifier: Apache-2.0
// The columns of a table that are read: which they are, and what their cells are.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/table_cells.h"
#include "frontend/table_layout.h"

namespace graphc::core {

/// A column that is read: where it is, and how its cells are.
struct WantedColumn {
  std::string name;
  std::optional<ColumnKind> kind;  ///< nothing: as the first rows show
  /// Whether the user said the kind. A category that only the cells showed has no number or date.
  bool is_declared = false;
  DateOrder order{};
  size_t place = 0;
  std::vector<std::string> categories{};
  std::unordered_map<std::string, size_t> ids{};  ///< of the categories
  /// Whether it has whole numbers below 1000, and numbers such as 1.234.
  bool has_wholes = false, has_points = false;
};

/// The names of a table's columns, and whether a column may be asked for by its number too.
struct ColumnNames {
  std::vector<std::string> names;
  bool are_numbers = false;  ///< they have none of their own
};

/// The columns that are wanted, in that order; all where none is. Throws ErrorKind::input, naming
/// the file, for a column that is not there or comes twice. A number is the place of a column,
/// from 1, where no name is a number.
std::vector<WantedColumn> wanted_columns(const std::vector<std::string>& wanted,
                                         const ColumnNames& names, const std::string& file);

/// Finds the kind of a column and the order of its dates, where they are not given, by the first
/// rows: the kind that most of the cells are. Throws ErrorKind::input where dates leave it open.
void look_at(WantedColumn& column, const std::vector<TableRecord>& rows, char decimal,
             const std::string& file);

}  // namespace graphc::core
