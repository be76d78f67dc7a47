// SPDX-License-Identifier: Apache-2.0
// Cleaning a graph up: what the passes simplify and cse do, for passes that need it in between.
#pragma once

#include "ir/graph.h"

namespace graphc::core {

/// The graph and its regions with all rules applied until none fires.
GraphPtr simplified(const GraphPtr& graph);
/// The graph and its regions with equal nodes merged; equal regions become one object.
GraphPtr without_repetition(const GraphPtr& graph);

}  // namespace graphc::core
