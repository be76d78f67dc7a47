// SPDX-License-Identifier: Apache-2.0
// Lowers recurrent layers and their gradients to external calls, which cuDNN executes.
#pragma once

#include <array>
#include <string>

#include "codegen/machine.h"
#include "codegen/step/plan.h"

namespace graphc::core::cuda {

/// The recurrent layers that cuDNN supports; `lstm`, `gru` and `rnn` of ir/ops/recurrent.cpp.
enum class LayerKind : uint8_t { lstm, gru, rnn };

/// The external call of a layer: a layer over a whole sequence in forward direction, or its
/// gradients. x is [steps, batch, inputs], y [steps, batch, units], h and c [batch, units]; weights
/// has the layout of LayerWeights. All are f32 and contiguous. Operands that a kind does not have
/// are absent.
struct LayerCall {
  std::string name;
  LayerKind kind = LayerKind::lstm;
  bool gradients = false;
  int64_t steps = 0, batch = 0, inputs = 0, units = 0;
  /// cuDNN keeps the data that a layer saves for its gradients in its own memory, outside of the
  /// plan. The two calls with the same number are a pair. -1: no gradients follow.
  int pair = -1;
};

/// The layout of a layer's weights and biases in cuDNN, in elements: for each gate the matrix
/// [units, inputs] of the input, then for each the matrix [units, units] of the state, then for
/// each the bias of the input, then that of the state. Gates are in graphc's order.
struct LayerWeights {
  LayerKind kind = LayerKind::lstm;
  int64_t inputs = 0, units = 0;

  int64_t gates() const { return kind == LayerKind::lstm ? 4 : kind == LayerKind::gru ? 3 : 1; }
  int64_t input_matrix(int64_t gate) const { return gate * units * inputs; }
  int64_t state_matrix(int64_t gate) const {
    return gates() * units * inputs + gate * units * units;
  }
  int64_t input_bias(int64_t gate) const { return state_matrix(gates()) + gate * units; }
  int64_t state_bias(int64_t gate) const { return input_bias(gates()) + gate * units; }
  int64_t elements() const { return state_bias(gates()); }
};

/// Machine::lower_external of a GPU: lowers layers in the form that libraries support
/// (passes/library_layers.h), and their gradients.
bool lower_layer(LowerContext& context, const Node& node, ViewMap& views, const ViewMap& wanted);

/// The description that lower_layer() stored in a call. Throws an internal error for the call of
/// another function.
LayerCall layer_of(const ExternCall& call);

/// The addresses of a layer: x, h, c, weights, y, last h, last c, dy, last dh, last dc, dx, dh, dc,
/// dweights; null for absent ones.
std::array<const Address*, 14> layer_addresses(const ExternCall& call);

}  // namespace graphc::core::cuda
