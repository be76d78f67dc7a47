// SPDX-License-Identifier: Apache-2.0
// Documents as tests: the graphs they hold, and the commands they show with what these print.
//
// A block between "```" lines is a transcript when its first line begins with "$ ". Each such line
// is a command, with the lines "> " below it; the lines below these are what it prints, stdout and
// stderr as they come. A line "..." stands for any lines, "..." inside a line for any text. A block
// "```graph NAME" is a graph that the commands of the document find as file NAME; so is the text of
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
  std::vector<std::string> expected;  ///< what it prints
  size_t begin = 0, end = 0;          ///< indices of the expected lines among the document's
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
  std::vector<GraphBlock> files;  ///< blocks of other languages that have a name
};

Document read_document(std::string_view text);

/// Whether `found` is what was expected, "..." standing for anything.
bool matches(const std::vector<std::string>& expected, const std::vector<std::string>& found);

/// The document with the expected lines of its transcripts replaced, in their order.
std::string with_outputs(const Document& document,
                         const std::vector<std::vector<std::string>>& outputs);

/// The lines of a text; what follows the last newline is one too.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace graphc::core::testing
