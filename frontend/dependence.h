// SPDX-License-Identifier: Apache-2.0
// Dependence of a loss on parameters, and checks that its gradients are those that a training step
// should use.
#pragma once

#include <unordered_set>

#include "frontend/functions.h"

namespace graphc::core {

/// The nodes on which the loss depends through differentiable operations. For loops and other nodes
/// with regions, every result is assumed to depend on every operand.
std::unordered_set<const Node*> differentiable_from(Value loss);

/// Throws ErrorKind::input if the loss reads a value that the graph has assigned to a parameter.
/// Gradients are with respect to the value before the graph runs, so they would propagate through
/// the update. Split into two graphs, one per step, each gradient is with respect to the value that
/// its loss reads.
void expect_values_of_before(Value loss, Where where);

/// A list made by Model::params() lacks parameters declared later. Throws ErrorKind::input if the
/// loss depends on such a parameter and the list was made during this trace: the next trace would
/// train the parameter. A list made outside the graph never has it; the trace emits a remark.
void expect_none_declared_later(Value loss, const Params& params, Where where);

}  // namespace graphc::core
