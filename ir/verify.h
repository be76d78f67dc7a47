// SPDX-License-Identifier: Apache-2.0
// The verifier: holds after import, after every pass and before code generation.
#pragma once

#include "ir/graph.h"

namespace graphc::core {

/// Re-infers every type, here and in regions; checks that operands come before their uses and
/// belong to the graph, that names are unique, that regions are frozen and closed, and that `next`
/// assigns states of equal type. Throws ErrorKind::internal naming the node and what is wrong.
void verify(const Graph& graph);
/// The same for each graph, and that the states graphs list are declared with their types and names
/// are distinct.
void verify(const Module& module);

}  // namespace graphc::core
