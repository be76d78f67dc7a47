// SPDX-License-Identifier: Apache-2.0
// Tables of numbers: columns of a delimited text or of a NumPy array.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace graphc::core {

/// Columns that were asked for, of equal length.
struct Table {
  std::vector<std::string> names;           ///< as they were asked for
  std::vector<std::vector<float>> columns;  ///< of finite numbers

  int64_t rows() const { return columns.empty() ? 0 : int64_t(columns[0].size()); }
};

/// Reads `wanted` columns of a file: CSV, also with tabs or semicolons (models/data/delimited.h),
/// or .npy of shape [rows] or [rows, columns]. The first line names the columns if none of its
/// cells is a number; a column is also called by its number, from 1. What other columns have is not
/// looked at. The text is read in pieces of `piece` bytes: memory is needed for the numbers alone.
///
/// Throws ErrorKind::input, naming file, line and column: an unknown column or one whose name comes
/// twice, a cell that is empty, no number, not finite or beyond f32, a column that f32 rounds by
/// more than a thousandth of its deviation, a row with another number of cells than the first, an
/// empty line before the last row, a table without rows, and what is wrong with the file.
Table read_table(const std::filesystem::path& path, const std::vector<std::string>& wanted,
                 size_t piece = size_t{1} << 20);

}  // namespace graphc::core
