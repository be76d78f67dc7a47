// SPDX-License-Identifier: Apache-2.0
// Learning curves: one row of numbers per measurement, written to a CSV file and passed to a
// callback.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core {

/// `Curve curve("curve.csv", {"epoch", "loss", "validation"})`, then in each epoch
/// `curve.add({epoch + 1, loss, validation})`.
class Curve {
 public:
  /// Called with every row, by column.
  using Watch = std::function<void(const std::map<std::string, double>& row)>;

  /// Starts a file with the column names, or appends to one with the same columns; an incomplete
  /// last row, left by a process that was killed, is removed. An empty path writes no file. Throws
  /// ErrorKind::input for a file with other columns, for no columns, and for a column name that is
  /// repeated or contains a comma, a quote or a newline; ErrorKind::resource if the file cannot be
  /// written.
  Curve(std::filesystem::path path, std::vector<std::string> columns, Watch watch = {});

  /// Adds a row with one number per column, NaN for no value. The row is in the file when this
  /// returns. Throws ErrorKind::input for the wrong number of values, ErrorKind::resource if the
  /// file cannot be written.
  void add(const std::vector<double>& row);

  /// Plots the columns against the first one as an SVG file (frontend/plot.h), including the rows
  /// that the file had before. Throws ErrorKind::resource if it cannot be written.
  void draw(const std::filesystem::path& path) const;

 private:
  void append(const std::string& line);
  /// Reads the rows of a file that is appended to.
  void take_rows(std::string_view text);

  std::filesystem::path path_;
  std::vector<std::string> columns_;
  Watch watch_;
  std::vector<std::vector<double>> rows_;  ///< the rows of the file and those added since
};

}  // namespace graphc::core
