// SPDX-License-Identifier: Apache-2.0
// Collects rows of values into columns; fills or drops missing values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "frontend/table.h"

namespace graphc::core {

/// Collects the rows of a table, NaN where a cell is missing.
class TableRows {
 public:
  TableRows(std::string file, Missing missing) : file_(std::move(file)), missing_(missing) {}

  /// Called before the first row with the number of columns.
  void begin(size_t columns);
  TableColumn& column(size_t index) { return table_.columns[index]; }
  void add(std::vector<double> values);
  /// The number of rows added.
  int64_t read() const { return read_; }
  /// The table, with a remark for each column with missing values. Throws ErrorKind::input if no
  /// row is left, or if a column to be filled has no value.
  Table end(std::vector<std::string> remarks);

 private:
  void fill(TableColumn& column) const;

  std::string file_;
  Missing missing_;
  Table table_;
  std::vector<int64_t> gaps_;  ///< missing cells per column
  int64_t read_ = 0;
};

}  // namespace graphc::core
