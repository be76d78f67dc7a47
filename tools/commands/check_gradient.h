// SPDX-License-Identifier: Apache-2.0
// Derivatives against finite differences, in f64.
#pragma once

#include "tools/commands/check_target.h"

namespace graphc::core::commands {

/// Whether the derivative by each floating-point input and state is that of a central difference
/// along a random direction. The loss is that of the graph's `grad`, else its only scalar result,
/// else a combination of all results. Where the first step does not agree, longer and shorter ones
/// are tried, and how far those beside each other lie apart is the error of the difference; where
/// none are near each other there is nothing to compare with, and the verdict is undecided unless
/// another derivative differs. Throws ErrorKind::input for a graph that has no such loss, or
/// nothing to differentiate by.
Agreement check_gradient(const GraphPtr& graph, const TargetCheck& how);

}  // namespace graphc::core::commands
