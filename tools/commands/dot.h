// SPDX-License-Identifier: Apache-2.0
// Pictures of graphs, in the language of graphviz.
#pragma once

#include <string>

#include "ir/graph.h"

namespace graphc::core::commands {

/// A `digraph`. A box for every live node, with its numbers and attributes; an edge for every use.
/// A loop is a frame around its body: edges go in by its streams and the first values of its
/// carries, straight from outside to what reads a capture, and out to its results; a dashed one
/// from the next value of a carry, or of a state, back to it. Throws ErrorKind::input where bodies,
/// each drawn at every use, are too many nodes (ir/unfolded.h).
std::string to_dot(const Graph& graph);

}  // namespace graphc::core::commands
