// SPDX-License-Identifier: Apache-2.0
// Text tests: parses a `.graph` file into its tests.
//
// Tests are separated by lines `---`. The first line of each that is not a comment is its verb:
//
//   test verify                         parses and verifies
//   test print                          prints; without expectations the text must be canonical
//   test passes=unroll{steps=4},cse     runs the passes on each graph
//   test run target=reference           evaluates what `# run:` asks for; target=all: every target
//
// Expectations:
//
//   becomes { ... }                     after a graph: its result, equal up to names
//   (`print`:
//                                       equal as text); regions may precede the block
//   # check: TEXT                       after a graph: in its result, below the previous check
//   # not: TEXT                         after a graph: nowhere in its result
//   # error: TEXT                       on the line of the error: part of its message
//   # run: @g(INPUTS; %STATE = VALUE) == RESULTS; %STATE = VALUE within 1e-6     # remark
//
// A value is a number, nested lists, `@file.npy` or `@file.safetensors:"name"` next to the test. A
// comment that begins with a word and a colon is a directive; an unknown directive fails.
// GRAPHC_BLESS=1 rewrites the blocks after `becomes` with the actual graphs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace graphc::core::testing {

/// `# word: text`.
struct Directive {
  std::string word, text;
  int line = 0;
};

/// `becomes` and the text after it.
struct Becomes {
  std::string regions, block;  ///< as written
  size_t begin = 0, end = 0;   ///< offsets in the file of the text after the word `becomes`
  int line = 0;
};

/// The source of one graph in a test, and its expectations.
struct TestedGraph {
  std::string name;
  std::string header;  ///< from `graph` up to its block
  int line = 0;
  std::vector<Becomes> becomes;
  std::vector<Directive> checks;  ///< `check` and `not`
};

/// One test of a file.
struct GraphTest {
  std::string file;  ///< name in errors
  int line = 0;      ///< of its verb
  std::string verb;  ///< "verify", "print", "passes", "run", or the text in their place
  std::map<std::string, std::string> options;  ///< of the verb; for `passes` the pipeline
  /// The module without `becomes`; its line numbers are those of the file.
  std::string text;
  std::vector<TestedGraph> graphs;
  std::vector<Directive> errors, runs;
  /// Faults of the test itself, such as an unknown directive, which make it fail.
  std::vector<std::string> faults;
};

/// The tests of a file; never throws: faults are recorded in the tests.
std::vector<GraphTest> graph_tests(std::string_view content, const std::string& file);

/// The graphs of all tests of a file of the source tree, in order: of
/// "tests/codegen/mixed_cells.graph".
std::vector<GraphPtr> graphs_of_tests(const std::string& path);

}  // namespace graphc::core::testing
