// SPDX-License-Identifier: Apache-2.0
// Graph clean-up: the passes simplify and cse as functions, for passes that need them in between.
#pragma once

#include "ir/graph.h"

namespace graphc::core {

/// The graph and its regions after applying all rules until none fires.
GraphPtr simplified(const GraphPtr& graph);
/// The graph and its regions with equal nodes merged; equal regions become one object.
GraphPtr without_repetition(const GraphPtr& graph);

}  // namespace graphc::core
