// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cuda/text_lines.h"

#include <map>
#include <sstream>

namespace graphc::core::testing {
namespace {

/// A line without the space and the comment around it.
std::string trimmed(const std::string& line) {
  const size_t first = line.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  const size_t comment = line.find("//");
  size_t end = comment == std::string::npos ? line.size() : comment;
  while (end > first && line[end - 1] == ' ') --end;
  return line.substr(first, end - first);
}

/// Whether it says which registers an instruction has.
bool is_of_registers(const std::string& text) {
  return text.starts_with("\"{%") || text.starts_with(": \"") || text.starts_with("\"+f\"") ||
         text.starts_with("\"r\"");
}

/// Whether it is a statement, or begins one, and no head of a function.
bool is_statement(const std::string& line, const std::string& text) {
  if (!line.starts_with("  ") || text.empty() || text.starts_with("__shared__")) return false;
  return text.ends_with(";") || text.starts_with("for (") || text.starts_with("if (") ||
         text.starts_with("while (") || text.starts_with("} else") || is_of_registers(text);
}

}  // namespace

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    const std::string statement = trimmed(line);
    lines.push_back({line, statement, is_statement(line, statement)});
  }
  return lines;
}

const std::regex& compiled(std::string_view pattern) {
  static std::map<std::string_view, std::regex> all;
  auto found = all.find(pattern);
  if (found == all.end())
    found = all.emplace(pattern, std::regex(pattern.begin(), pattern.end())).first;
  return found->second;
}

bool is_never_read(const std::string& before, const std::vector<Line>& lines) {
  const std::string name = before.substr(0, before.find_first_of("[ "));
  const std::regex named(R"(\b)" + name + R"(\b)");
  const std::regex declared(R"(^(?:float|double|int|unsigned) )" + name + R"((?:\[\d+\])*;$)");
  const std::regex stored("^" + name + R"((?:\[\w+\])* = (?!.*\b)" + name + R"(\b))");
  bool is_declared = false;
  for (const Line& line : lines) {
    if (!std::regex_search(line.statement, named)) continue;
    const bool declares = std::regex_search(line.statement, declared);
    is_declared |= declares;
    if (!declares && !std::regex_search(line.statement, stored)) return false;
  }
  return is_declared;
}

}  // namespace graphc::core::testing
