// SPDX-License-Identifier: Apache-2.0
// Runs the text tests of tests/testing/graph_file.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/testing/graph_file.h"

namespace graphc::core::testing {

/// A block behind `becomes` that is not what the graph became.
struct Correction {
  size_t begin = 0, end = 0;  ///< offsets in the file
  std::string text;
};

struct GraphTestResult {
  std::vector<std::string> failures;    ///< each with the file and the line; empty: passed
  std::vector<Correction> corrections;  ///< what would make the wrong `becomes` right
};

/// Runs one test. `folder` is where the files are that its values name. Never throws a
/// graphc::core::Error: what is thrown and not expected is a failure.
GraphTestResult run_graph_test(const GraphTest& test, const std::filesystem::path& folder);

/// The content with the corrections made.
std::string corrected(std::string content, std::vector<Correction> corrections);

}  // namespace graphc::core::testing
