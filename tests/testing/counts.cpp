// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/counts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace graphc::core::testing {
namespace {

void write_line(const std::string& line) {
  const char* path = std::getenv("GRAPHC_COUNTS");
  if (path == nullptr || *path == '\0') return;
  // A single append: tests run concurrently.
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
  close(file);
}

}  // namespace

void count(std::string_view what, int64_t n) {
  write_line(fmt::format("{{\"count\": \"{}\", \"n\": {}}}\n", what, n));
}

void distinct(std::string_view what, const std::vector<std::string>& keys) {
  write_line(fmt::format("{{\"distinct\": \"{}\", \"keys\": [\"{}\"]}}\n", what,
                         fmt::join(keys, "\", \"")));
}

void largest(std::string_view what, double value) {
  write_line(fmt::format("{{\"largest\": \"{}\", \"value\": {}}}\n", what, value));
}

}  // namespace graphc::core::testing
