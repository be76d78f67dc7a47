// SPDX-License-Identifier: Apache-2.0
// The layout of a table, detected from its first records: whether the first one has the column
// names, and which decimal separator numbers use.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/table.h"
#include "runtime/files/delimited.h"

namespace graphc::core {

/// A record and the line where it begins.
using TableRecord = std::pair<DelimitedText::Cells, int64_t>;

struct TableLayout {
  bool has_names = false;
  char decimal = '.';
  /// Whether a cell showed it or an option gives it; otherwise a point is assumed.
  bool decimal_is_known = false;
  /// Whether every two cells may be halves of a number with a decimal comma.
  bool may_be_split = false;
  std::vector<std::string> remarks;  ///< what was assumed
};

/// The layout of a table with these first records, by the rules documented at read_table(). Throws
/// ErrorKind::input, naming the file and the option that decides, if it is ambiguous.
TableLayout layout_of(const std::string& file, const std::vector<TableRecord>& records,
                      char delimiter, const TableOptions& options);

/// Throws ErrorKind::input if a row of a table that may be split proves it, e.g. 1,05.
void check_not_split(const std::string& file, const TableRecord& row, const TableOptions& options);

}  // namespace graphc::core
