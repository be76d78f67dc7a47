// SPDX-License-Identifier: Apache-2.0
// Removes everything from a graph that is not needed.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

/// The graph without the nodes, inputs, states, parts of scans and operands of `grad` that no
/// result and no `next` needs.
GraphPtr pruned(GraphPtr graph);

}  // namespace graphc::core::testing
