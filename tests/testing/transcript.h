// SPDX-License-Identifier: Apache-2.0
// Documents as tests: the graphs and commands in them, with the commands' output.
//
// A block between "```" lines is a transcript if its first line begins with "$ ". Each such line is
// a command, continued by lines with "> "; the following lines are its output, stdout and stderr
// interleaved. A line "..." matches any lines, "..." inside a line any text. A block "```graph
// NAME" is a graph that the commands of the document find as file NAME; likewise the text of
// "```cpp NAME", and of other languages.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphc::core::testing {

struct Transcript {
  std::string command;
  int line = 0;                       ///< of the command, from 1
  std::vector<std::string> expected;  ///< its output
  size_t begin = 0, end = 0;          ///< indices of the expected lines in the document
};

struct GraphBlock {
  std::string name;  ///< of the file; may be empty
  std::string text;
  int line = 0;
};

struct Document {
  std::vector<std::string> lines;
  std::vector<Transcript> transcripts;
  std::vector<GraphBlock> graphs;
  std::vector<GraphBlock> files;  ///< named blocks of other languages
};

Document read_document(std::string_view text);

/// Whether `found` matches the expectation, where "..." stands for anything.
bool matches(const std::vector<std::string>& expected, const std::vector<std::string>& found);

/// The document with the expected lines of its transcripts replaced, in order.
std::string with_outputs(const Document& document,
                         const std::vector<std::vector<std::string>>& outputs);

/// The lines of a text; the text after the last newline counts as one.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace graphc::core::testing
