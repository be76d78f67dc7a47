// SPDX-License-Identifier: Apache-2.0
// Compiled programs against the evaluator.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace graphc::core::testing {

/// Expects that the graph, compiled fused and kernel by kernel, for every CPU level the host can
/// run, for one thread and two, agrees with the f64 evaluator on random inputs, and that its bits
/// do not depend on the threads. Integers are drawn from [0, index_limit).
void check_graph(const GraphPtr& graph, int64_t index_limit = 1);
/// The same for a graph as text.
void check(std::string_view text, int64_t index_limit = 1);

}  // namespace graphc::core::testing
