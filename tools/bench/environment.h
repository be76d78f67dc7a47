// SPDX-License-Identifier: Apache-2.0
// Where a benchmark ran: what its figures depend on besides the program.
#pragma once

#include <nlohmann/json.hpp>

namespace graphc::core::bench {

/// cpu, cores and threads (those this process may use), os, compiler, llvm, graphc. Without a date
/// or a host's name: the same machine gives the same text.
nlohmann::ordered_json environment();

}  // namespace graphc::core::bench
