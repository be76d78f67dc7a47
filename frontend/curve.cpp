// SPDX-License-Identifier: Apache-2.0
#include "frontend/curve.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "frontend/plot.h"
#include "ir/error.h"
#include "runtime/files/files.h"

namespace graphc::core {

Curve::Curve(std::filesystem::path path, std::vector<std::string> columns, Watch watch)
    : path_(std::move(path)), columns_(std::move(columns)), watch_(std::move(watch)) {
  if (columns_.empty()) throw input_error({}, "a curve has a column at least: found none");
  for (const std::string& column : columns_) {
    if (column.find_first_of(",\"\n\r") == column.npos) continue;
    throw input_error({}, "a column's name has no comma, quote or newline: found '{}'", column);
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (std::find(columns_.begin(), columns_.begin() + long(i), columns_[i]) ==
        columns_.begin() + long(i))
      continue;
    throw input_error({}, "two columns of a curve are called '{}': wanted names that differ",
                      columns_[i]);
  }
  if (path_.empty()) return;
  const std::string header = fmt::format("{}\n", fmt::join(columns_, ","));
  std::error_code ignored;
  const std::string content = std::filesystem::exists(path_, ignored) ? read_file(path_) : "";
  if (content.empty()) append(header);
  if (content.empty()) return;
  if (content.starts_with(header)) {
    // Removes the unfinished row of a killed process; the next row would be joined to it.
    const size_t finished = content.rfind('\n') + 1;
    std::error_code error;
    if (finished < content.size()) std::filesystem::resize_file(path_, finished, error);
    if (error) throw resource_error("cannot write '{}': {}", path_.string(), error.message());
    take_rows(std::string_view(content).substr(header.size(), finished - header.size()));
    return;
  }
  throw input_error({}, "{}: has other columns than {}: found '{}'", path_.string(),
                    fmt::join(columns_, ","), content.substr(0, content.find('\n')));
}

void Curve::add(const std::vector<double>& row) {
  if (row.size() != columns_.size())
    throw input_error({}, "a row has a number for each of {}: found {}", fmt::join(columns_, ","),
                      row.size());
  std::string line;
  std::map<std::string, double> named;
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += ",";
    if (!std::isnan(row[i])) line += fmt::format("{}", row[i]);
    named[columns_[i]] = row[i];
  }
  if (!path_.empty()) append(line + "\n");
  if (watch_) watch_(named);
  rows_.push_back(row);
}

void Curve::take_rows(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    // Cells that are not numbers become gaps.
    std::vector<double>& row = rows_.emplace_back(columns_.size(), std::nan(""));
    for (double& number : row) {
      const std::string_view cell = line.substr(0, line.find(','));
      std::from_chars(cell.data(), cell.data() + cell.size(), number);
      line.remove_prefix(std::min(cell.size() + 1, line.size()));
    }
  }
}

void Curve::draw(const std::filesystem::path& path) const {
  PlotPanel panel{.title = path_.stem().string(), .x_name = columns_[0], .lines = {}};
  for (size_t column = 1; column < columns_.size(); ++column) {
    PlotLine line{.name = columns_[column], .y = {}};
    for (const std::vector<double>& row : rows_) {
      line.x.push_back(row[0]);
      line.y.push_back(row[column]);
    }
    panel.lines.push_back(std::move(line));
  }
  plot(path, {panel});
}

void Curve::append(const std::string& line) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "ae"),
                                                             std::fclose);
  if (file == nullptr || std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() ||
      std::fflush(file.get()) != 0)
    throw resource_error("cannot write '{}': {}", path_.string(), std::strerror(errno));
}

}  // namespace graphc::core
