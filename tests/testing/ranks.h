// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of a test.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "runtime/ranks/thread_ranks.h"

namespace graphc::core::testing {

/// Calls `function` for each of `count` ranks, as run_on() does (runtime/ranks/thread_ranks.h).
void run_ranks(int count, const std::function<void(const std::shared_ptr<Ranks>&)>& function);

/// The graphs of all ranks evaluated side by side.
std::vector<Evaluation> evaluate_ranks(const std::vector<GraphPtr>& graphs,
                                       const std::vector<Literal>& inputs,
                                       const std::map<std::string, Literal>& states,
                                       Precision precision);

}  // namespace graphc::core::testing
