// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/sweep.h"

#include "ir/error.h"

namespace graphc::core::bench {
namespace {

constexpr size_t kMaxCombinations = 10'000;

}  // namespace

std::vector<std::string> split_list(std::string_view text, std::string_view what) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    if (parts.back().empty()) {
      throw Error(ErrorKind::usage, {},
                  fmt::format("{}: a list is written a,b,c: found '{}'", what, text));
    }
    begin = end + 1;
  }
  return parts;
}

std::vector<std::vector<std::string>> combinations(const std::vector<std::string>& assignments) {
  std::vector<std::vector<std::string>> rows{{}};
  for (const std::string& assignment : assignments) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      throw Error(ErrorKind::usage, {},
                  fmt::format("a parameter is written name=value: found '{}'", assignment));
    }
    const std::string name = assignment.substr(0, equals);
    const std::vector<std::string> values = split_list(assignment.substr(equals + 1), name);
    if (rows.size() * values.size() > kMaxCombinations) {
      throw Error(ErrorKind::usage, {},
                  fmt::format("a sweep has at most {} rows: '{}' makes {}", kMaxCombinations, name,
                              rows.size() * values.size()));
    }
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& row : rows) {
      for (const std::string& value : values) {
        longer.push_back(row);
        longer.back().push_back(name + "=" + value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

}  // namespace graphc::core::bench
