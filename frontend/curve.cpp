// SPDX-License-Identifier: Apache-2.0
#include "frontend/curve.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ir/error.h"
#include "runtime/files/files.h"

namespace graphc::core {

Curve::Curve(std::filesystem::path path, std::vector<std::string> columns, Watch watch)
    : path_(std::move(path)), columns_(std::move(columns)), watch_(std::move(watch)) {
  for (const std::string& column : columns_) {
    if (column.find_first_of(",\"\n\r") == column.npos) continue;
    throw input_error({}, "a column's name has no comma, quote or newline: found '{}'", column);
  }
  if (path_.empty()) return;
  const std::string header = fmt::format("{}\n", fmt::join(columns_, ","));
  std::error_code ignored;
  const std::string content = std::filesystem::exists(path_, ignored) ? read_file(path_) : "";
  if (content.empty()) append(header);
  if (content.empty()) return;
  if (content.starts_with(header)) {
    // The next row would join one that a killed process did not finish.
    const size_t finished = content.rfind('\n') + 1;
    std::error_code error;
    if (finished < content.size()) std::filesystem::resize_file(path_, finished, error);
    if (error) throw resource_error("cannot write '{}': {}", path_.string(), error.message());
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
}

void Curve::append(const std::string& line) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "ae"),
                                                             std::fclose);
  if (file == nullptr || std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() ||
      std::fflush(file.get()) != 0)
    throw resource_error("cannot write '{}': {}", path_.string(), std::strerror(errno));
}

}  // namespace graphc::core
