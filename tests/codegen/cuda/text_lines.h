// SPDX-License-Identifier: Apache-2.0
// CUDA text line by line, and the loops around a line.
#pragma once

#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::testing {

struct Line {
  std::string text, statement;  ///< as it is; without the space and the comment around it
  /// A statement, or the beginning of one, and no head of a function; or registers of an
  /// instruction.
  bool counts = false;
};
std::vector<Line> lines_of(const std::string& text);

/// The expression of a pattern, compiled once.
const std::regex& compiled(std::string_view pattern);

inline size_t indent_of(const Line& line) { return line.text.find_first_not_of(' '); }

/// The head of the block around a line, or the last of them that `wanted` is true of; null: none.
template <typename Wanted>
const Line* block_around(const std::vector<Line>& lines, size_t at, const Wanted& wanted) {
  size_t indent = indent_of(lines[at]);
  // A mutant's line stands at the left: what is below it says how far in it was.
  for (size_t i = at + 1; i < lines.size() && indent == 0; ++i) {
    indent = indent_of(lines[i]) + (lines[i].statement.starts_with("}") ? 2 : 0);
  }
  for (size_t i = at; i-- > 0;) {
    if (lines[i].statement.empty() || indent_of(lines[i]) >= indent) continue;
    indent = indent_of(lines[i]);
    if (wanted(lines[i])) return &lines[i];
  }
  return nullptr;
}

/// The same of loops.
template <typename Wanted>
const Line* loop_around(const std::vector<Line>& lines, size_t at, const Wanted& wanted) {
  return block_around(lines, at, [&](const Line& line) {
    return line.statement.starts_with("for (") && wanted(line);
  });
}

/// Whether a line stores into registers that no line reads: each that names them declares them or
/// stores into them.
bool is_never_read(const std::string& before, const std::vector<Line>& lines);

}  // namespace graphc::core::testing
