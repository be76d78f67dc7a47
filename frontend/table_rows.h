// SPDX-License-Identifier: Apache-2.0
// Rows of values become columns; what is missing is filled or left out.
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

  /// Before the first row: how many columns there are.
  void begin(size_t columns);
  TableColumn& column(size_t index) { return table_.columns[index]; }
  void add(std::vector<double> values);
  /// How many rows were added.
  int64_t read() const { return read_; }
  /// The table, with a remark for each column that lacked values. Throws ErrorKind::input where no
  /// row is left, or a column that is to be filled has no value.
  Table end(std::vector<std::string> remarks);

 private:
  void fill(TableColumn& column) const;

  std::string file_;
  Missing missing_;
  Table table_;
  std::vector<int64_t> gaps_;  ///< missing cells of each column
  int64_t read_ = 0;
};

}  // namespace graphc::core
