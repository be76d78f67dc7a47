// SPDX-License-Identifier: Apache-2.0
// `# run: @g(INPUTS; STATE = VALUE) == RESULTS; STATE = VALUE within 1e-6` of text tests.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "ir/evaluate.h"

namespace graphc::core::testing {

/// A literal as written: a number, nested lists, or a file beside the test (`@x.npy`,
/// `@all.safetensors:x`), of the type. Throws ErrorKind::input when it does not fit.
Literal literal_from(std::string_view text, const Type& type, const std::filesystem::path& folder);

/// Computes the graph: what a target does.
using RunGraph = std::function<Evaluation(const Module& module, const Graph& graph,
                                          const std::vector<Literal>& inputs,
                                          const std::map<std::string, Literal>& states)>;

/// Runs what the directive asks for and compares. Returns what differs, or an empty string. Without
/// `within` the results must be equal; NaN equals NaN. Throws ErrorKind::input when the directive
/// is malformed, and whatever `run` throws.
std::string run_directive(std::string_view directive, const Module& module, const RunGraph& run,
                          const std::filesystem::path& folder);

}  // namespace graphc::core::testing
