// SPDX-License-Identifier: Apache-2.0
// How a table is written, as its first records show: whether the first of them has the columns'
// names, and what stands before the fraction of its numbers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/table.h"
#include "runtime/files/delimited.h"

namespace graphc::core {

/// A record and the line that it begins at.
using TableRecord = std::pair<DelimitedText::Cells, int64_t>;

struct TableLayout {
  bool has_names = false;
  char decimal = '.';
  /// Whether a cell showed it or the options say it: a point is only taken for granted otherwise.
  bool decimal_is_known = false;
  /// Whether each two cells may be the halves of a number with a decimal comma.
  bool may_be_split = false;
  std::vector<std::string> remarks;  ///< what was taken for granted
};

/// The layout of a table whose first records these are, by the rules that read_table() documents.
/// Throws ErrorKind::input, naming the file and the option that decides, where they leave it open.
TableLayout layout_of(const std::string& file, const std::vector<TableRecord>& records,
                      char delimiter, const TableOptions& options);

/// Throws ErrorKind::input where a row of a table that may be split so shows it: 1,05.
void check_not_split(const std::string& file, const TableRecord& row, const TableOptions& options);

}  // namespace graphc::core
