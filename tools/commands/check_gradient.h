// SPDX-License-Identifier: Apache-2.0
// Checks derivatives against finite differences, in f64.
#pragma once

#include "tools/commands/check_target.h"

namespace graphc::core::commands {

/// Checks the derivative with respect to each floating-point input and state against a central
/// difference along a random direction. The loss is that of the graph's `grad`, otherwise its only
/// scalar result, otherwise a combination of all results. If the first step size disagrees, larger
/// and smaller ones are tried, and the spread of neighbouring ones is the error of the difference;
/// if no two are close, there is nothing to compare with, and the verdict is undecided unless
/// another derivative differs. Throws ErrorKind::input for a graph without such a loss, or without
/// a value to differentiate by.
Agreement check_gradient(const GraphPtr& graph, const TargetCheck& how);

}  // namespace graphc::core::commands
