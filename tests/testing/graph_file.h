// SPDX-License-Identifier: Apache-2.0
// Text tests: a `.graph` file as the tests it holds.
//
// Tests are separated by lines `---`. The first line of each that is no comment is its verb:
//
//   test verify                         parses and verifies
//   test print                          prints; without expectations the text must be canonical
//   test passes=unroll{steps=4},cse     runs the passes on each graph
//   test run target=reference           evaluates what `# run:` asks for; target=all: every target
//
// Expectations:
//
//   becomes { ... }                     behind a graph: what it becomes, equal up to names
//   (`print`:
//                                       equal as text); regions may stand before the block
//   # check: TEXT                       behind a graph: in what it becomes, below the check before
//   # not: TEXT                         behind a graph: nowhere in what it becomes
//   # error: TEXT                       on the line of the error: part of its message
//   # run: @g(INPUTS; %STATE = VALUE) == RESULTS; %STATE = VALUE within 1e-6     # remark
//
// A value is a number, nested lists, `@file.npy` or `@file.safetensors:"name"` beside the test. A
// comment that begins with a word and a colon is a directive; one that is none of these fails.
// GRAPHC_BLESS=1 rewrites the blocks behind `becomes` with what the graphs became.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::testing {

/// `# word: text`.
struct Directive {
  std::string word, text;
  int line = 0;
};

/// `becomes` and what follows it.
struct Becomes {
  std::string regions, block;  ///< as written
  size_t begin = 0, end = 0;   ///< offsets in the file of what follows the word `becomes`
  int line = 0;
};

/// The source of one graph of a test and what is expected of it.
struct TestedGraph {
  std::string name;
  std::string header;  ///< from `graph` to before its block
  int line = 0;
  std::vector<Becomes> becomes;
  std::vector<Directive> checks;  ///< `check` and `not`
};

/// One test of a file.
struct GraphTest {
  std::string file;  ///< as errors name it
  int line = 0;      ///< of its verb
  std::string verb;  ///< "verify", "print", "passes", "run", or what stands there
  std::map<std::string, std::string> options;  ///< of the verb; `passes` has the pipeline
  /// The module, without `becomes`; its lines have the numbers they have in the file.
  std::string text;
  std::vector<TestedGraph> graphs;
  std::vector<Directive> errors, runs;
  /// What is wrong with the test itself, like an unknown directive: it fails.
  std::vector<std::string> faults;
};

/// The tests of a file; never throws: faults are in the tests.
std::vector<GraphTest> graph_tests(std::string_view content, const std::string& file);

}  // namespace graphc::core::testing
