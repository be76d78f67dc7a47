// SPDX-License-Identifier: Apache-2.0
// Derivatives against finite differences, in f64.
#pragma once

#include "tools/commands/check_target.h"

namespace graphc::commands {

/// Whether the derivative by each floating-point input and state is that of a central difference
/// along a random direction. The loss is that of the graph's `grad`, else its only scalar result,
/// else a combination of all results. Throws ErrorKind::input for a graph that has none, or nothing
/// to differentiate by.
Agreement check_gradient(const GraphPtr& graph, uint64_t seed);

}  // namespace graphc::commands
