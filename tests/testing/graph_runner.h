// SPDX-License-Identifier: Apache-2.0
// Runs the text tests of tests/testing/graph_file.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/testing/graph_file.h"

namespace graphc::core::testing {

/// A corrected block for a `becomes` that did not match.
struct Correction {
  size_t begin = 0, end = 0;  ///< offsets in the file
  std::string text;
};

struct GraphTestResult {
  std::vector<std::string> failures;    ///< each with the file and the line; empty: passed
  std::vector<Correction> corrections;  ///< blocks that would make the wrong `becomes` correct
};

/// Runs one test. `folder` has the files named by its values. Never throws a graphc::core::Error:
/// an unexpected one is a failure.
GraphTestResult run_graph_test(const GraphTest& test, const std::filesystem::path& folder);

/// The content with the corrections applied.
std::string corrected(std::string content, std::vector<Correction> corrections);

}  // namespace graphc::core::testing
