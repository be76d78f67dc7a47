// SPDX-License-Identifier: Apache-2.0
// A graph for inputs of other extents: the same program, with its types inferred again.
#pragma once

#include <span>

#include "ir/graph.h"

namespace graphc::core {

/// The graph with inputs of these types; itself if they are its own. States keep their types.
/// Throws ErrorKind::input if the number, an element type or a rank differs, and, at the line that
/// does not fit, if the program fixes an extent in another way.
GraphPtr with_inputs(const GraphPtr& graph, std::span<const Type> inputs);

}  // namespace graphc::core
