// SPDX-License-Identifier: Apache-2.0
// Learning curves: rows of numbers as training makes them, in a CSV file and to whoever watches.
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
  /// Is told of every row, by column.
  using Watch = std::function<void(const std::map<std::string, double>& row)>;

  /// Begins a file with the columns' names, or goes on with one that has these columns; a last
  /// row without an end, of a process that was killed, is removed. An empty path writes none.
  /// Throws ErrorKind::input for a file of other columns and for no columns, a name that comes
  /// twice or one with a comma, a quote or a newline, ErrorKind::resource when the file cannot be
  /// written.
  Curve(std::filesystem::path path, std::vector<std::string> columns, Watch watch = {});

  /// A row: a number for each column, NaN where there is none. It is in the file when this returns.
  /// Throws ErrorKind::input for another number of numbers, ErrorKind::resource when it cannot be
  /// written.
  void add(const std::vector<double>& row);

  /// Draws the columns over the first one, with the rows that a file had before, as an SVG file
  /// (frontend/plot.h). Throws ErrorKind::resource when it cannot be written.
  void draw(const std::filesystem::path& path) const;

 private:
  void append(const std::string& line);
  /// Takes in the rows of a file that is gone on with.
  void take_rows(std::string_view text);

  std::filesystem::path path_;
  std::vector<std::string> columns_;
  Watch watch_;
  std::vector<std::vector<double>> rows_;  ///< the file's, and those that were added
};

}  // namespace graphc::core
