// SPDX-License-Identifier: Apache-2.0
// Recurrent layers implemented by a target's library: composites with gradients of their own
// (Op::gradients), which passes with option `library` leave intact.
#pragma once

#include <span>

#include "ir/graph.h"

namespace graphc::core {

/// Whether a library supports the layer (`lstm`, `gru`, `rnn`) for these operand types: f32, with
/// full shapes. Equations may broadcast; a library would read out of bounds.
bool has_library_form(const Op& layer, std::span<const Type> operands);

/// Whether the node is a layer in the form that libraries support: f32, in forward direction.
/// (`outline` writes a layer in reverse direction as one over the reversed sequence.)
bool is_library_layer(const Node& node);

/// If the node computes the gradients of a layer and both are in the form that libraries support,
/// the layer's node: the node of operand y, with the same operands. Otherwise null.
const Node* layer_of_gradients(const Node& node);

/// Either of the two.
bool is_done_by_library(const Node& node);

}  // namespace graphc::core
