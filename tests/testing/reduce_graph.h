// SPDX-License-Identifier: Apache-2.0
// Reducing: from a graph that shows a defect to the smallest one found that still does.
#pragma once

#include <functional>

#include "ir/graph.h"

namespace graphc::core::testing {

/// Applications in the graph and its regions: all nodes but inputs, states and constants.
int applications(const Graph& graph);

/// Shrinks `graph`, for which `fails` holds, as long as it does: takes results and next values
/// away, ends the graph early, puts inputs, states, operands or constants of the same type in the
/// place of nodes and inputs in the place of states, takes carries, emits and streams from scans,
/// switches attributes off, makes extents and steps smaller. The result is minimal: no single one
/// of these steps keeps it failing; unless `fails` has been asked `most_calls` times before. Nodes
/// that are needed by nothing, inputs and states, go by themselves.
/// `fails` is asked about verified graphs only, and does not throw.
GraphPtr reduce_graph(const GraphPtr& graph, const std::function<bool(const GraphPtr&)>& fails,
                      int most_calls = 5000);

}  // namespace graphc::core::testing
