// SPDX-License-Identifier: Apache-2.0
// Reduction: shrinks a graph that shows a defect to a minimal one that still does.
#pragma once

#include <functional>

#include "ir/graph.h"

namespace graphc::core::testing {

/// The applications in the graph and its regions: all nodes except inputs, states and constants.
int applications(const Graph& graph);

/// Shrinks `graph` as long as `fails` holds: removes results and next values, ends the graph
/// earlier, replaces nodes by inputs, states, operands or constants of the same type and states by
/// inputs, removes carries, emits and streams of scans, switches attributes off, makes extents and
/// numbers of steps smaller. The result is minimal, i.e. no single step keeps it failing, unless
/// `most_calls` calls of `fails` were used up. Unneeded nodes, inputs and states are removed
/// automatically. `fails` is called only with verified graphs, and must not throw.
GraphPtr reduce_graph(const GraphPtr& graph, const std::function<bool(const GraphPtr&)>& fails,
                      int most_calls = 5000);

}  // namespace graphc::core::testing
