// SPDX-License-Identifier: Apache-2.0
// `# run: @g(INPUTS; STATE = VALUE) == RESULTS; STATE = VALUE within 1e-6` of text tests.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "ir/evaluate.h"

namespace graphc::core::testing {

/// A literal of this type as written: a number, nested lists, or a file next to the test (`@x.npy`,
/// `@all.safetensors:x`). Throws ErrorKind::input if it does not fit.
Literal literal_from(std::string_view text, const Type& type, const std::filesystem::path& folder);

/// Computes the graph, for example on a target.
using RunGraph = std::function<Evaluation(const Module& module, const Graph& graph,
                                          const std::vector<Literal>& inputs,
                                          const std::map<std::string, Literal>& states)>;

/// Runs the directive and compares. Returns the difference, or an empty string. Without `within`
/// the results must be equal; NaN equals NaN. Throws ErrorKind::input if the directive is
/// malformed, and whatever `run` throws.
std::string run_directive(std::string_view directive, const Module& module, const RunGraph& run,
                          const std::filesystem::path& folder);

}  // namespace graphc::core::testing
