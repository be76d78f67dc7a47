// SPDX-License-Identifier: Apache-2.0
// The verifier: runs after import, after every pass and before code generation.
#pragma once

#include "ir/graph.h"

namespace graphc::core {

/// Re-infers every type, regions included; checks that operands precede their uses and belong to
/// the graph, that names are unique, that regions are frozen and closed, and that `next` assigns
/// values of the states' types. Throws ErrorKind::internal naming the node and the fault.
void verify(const Graph& graph);
/// Verifies each graph, and that their states are declared with the same types and that names are
/// distinct.
void verify(const Module& module);

}  // namespace graphc::core
