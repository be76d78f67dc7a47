// SPDX-License-Identifier: Apache-2.0
// Drawings of graphs in graphviz's language.
#pragma once

#include <string>

#include "ir/graph.h"

namespace graphc::core {

/// A `digraph`. Each live node is a box with its numbers and attributes; each use is an edge. A
/// loop is a frame around its body: edges enter through its streams and the initial values of its
/// carries, and directly from outside to readers of a capture, and leave from its results; a dashed
/// edge leads from the next value of a carry or a state back to it. Throws ErrorKind::input if the
/// bodies, drawn at every use, have too many nodes (ir/unfolded.h).
std::string to_dot(const Graph& graph);

}  // namespace graphc::core
