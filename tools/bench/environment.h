// SPDX-License-Identifier: Apache-2.0
// The environment of a benchmark: everything its figures depend on besides the program.
#pragma once

#include <nlohmann/json.hpp>

namespace graphc::core::bench {

/// cpu, cores and threads (usable by this process), os, compiler, llvm, graphc. No date or host
/// name: the same machine gives the same text.
nlohmann::ordered_json environment();

}  // namespace graphc::core::bench
