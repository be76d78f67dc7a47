// SPDX-License-Identifier: Apache-2.0
// What a loss depends on, and whether its gradients are those that a training step is meant to
// take.
#pragma once

#include <unordered_set>

#include "frontend/functions.h"

namespace graphc::core {

/// The nodes that the loss depends on by operations that have derivatives. Of a loop and of other
/// nodes with regions every result is taken to depend on every operand.
std::unordered_set<const Node*> differentiable_from(Value loss);

/// Throws ErrorKind::input where the loss reads a value that the graph has given a parameter: a
/// gradient is by the value before the graph runs, and would go on through the update. In two
/// graphs, one for each step, each is by the value that its loss reads.
void expect_values_of_before(Value loss, Where where);

/// A list that Model::params() made lacks what is declared later. Throws ErrorKind::input when the
/// loss depends on such a parameter and the list was made while the graph is traced: the next trace
/// would train it. A list from outside of the graph lacks it always: the trace remarks on that.
void expect_none_declared_later(Value loss, const Params& params, Where where);

}  // namespace graphc::core
