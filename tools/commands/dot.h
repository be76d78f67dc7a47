// SPDX-License-Identifier: Apache-2.0
// Pictures of graphs, in the language of graphviz.
#pragma once

#include <string>

#include "ir/graph.h"

namespace graphc::core::commands {

/// A `digraph`: a box for every live node, an edge for every use, a cluster for every region at
/// each of its uses. Throws ErrorKind::input where these are too many (ir/unfolded.h).
std::string to_dot(const Graph& graph);

}  // namespace graphc::core::commands
