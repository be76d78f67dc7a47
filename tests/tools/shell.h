// SPDX-License-Identifier: Apache-2.0
// Runs what a user would type, in bash.
#pragma once

#include "tests/tools/run_tool.h"

namespace graphc::core::testing {

/// Runs the `graphc` of this build with arguments as a shell reads them; `input` is its stdin.
Ran graphc(const std::string& arguments, const std::string& input = "");

/// What bash makes of a script in a folder; the tools of this build are found first. `merged` has
/// stderr in `out`, as it comes.
Ran run_bash(const std::string& script, const TemporaryFolder& folder, bool merged = false);

}  // namespace graphc::core::testing
