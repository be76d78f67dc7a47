// SPDX-License-Identifier: Apache-2.0
// Runs what a user would type, in bash.
#pragma once

#include "tests/tools/run_tool.h"

namespace graphc::testing {

/// What bash makes of a script in a folder; the tools of this build are found first. `merged` has
/// stderr in `out`, as it comes.
Ran run_bash(const std::string& script, const TemporaryFolder& folder, bool merged = false);

}  // namespace graphc::testing
