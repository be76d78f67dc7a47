// SPDX-License-Identifier: Apache-2.0
// Recurrent layers that a target's library does: composites with gradients of their own
// (Op::gradients), which the passes of option `library` leave as they are.
#pragma once

#include <span>

#include "ir/graph.h"

namespace graphc::core {

/// Whether a library has the layer (`lstm`, `gru`, `rnn`) on operands of these types: f32, and each
/// as large as it can be. Where equations broadcast, a library reads what is not there.
bool has_library_form(const Op& layer, std::span<const Type> operands);

/// Whether the node is a layer in the form that libraries have: f32, from the first step to the
/// last. (A layer that goes the other way is one over the reversed sequence: `outline` writes
/// that.)
bool is_library_layer(const Node& node);

/// The layer that the node has the gradients of, both in the form that libraries have; null if it
/// is no such node. It is the node of operand y, and has the same operands.
const Node* layer_of_gradients(const Node& node);

/// Either of both.
bool is_done_by_library(const Node& node);

}  // namespace graphc::core
