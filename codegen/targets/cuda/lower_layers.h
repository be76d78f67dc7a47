// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, and their gradients, as external calls of a step that cuDNN does.
#pragma once

#include <array>
#include <string>

#include "codegen/machine.h"
#include "codegen/step/plan.h"

namespace graphc::core::cuda {

/// The recurrent layers that cuDNN has; `lstm`, `gru` and `rnn` of ir/ops/recurrent.cpp.
enum class LayerKind : uint8_t { lstm, gru, rnn };

/// What an external call of a layer is: a layer over a whole sequence, going forward, or its
/// gradients. x is [steps, batch, inputs], y [steps, batch, units], h and c [batch, units]; weights
/// is as LayerWeights says. All are f32 and contiguous. What a kind does not have is absent.
struct LayerCall {
  std::string name;
  LayerKind kind = LayerKind::lstm;
  bool gradients = false;
  int64_t steps = 0, batch = 0, inputs = 0, units = 0;
  /// What a layer leaves for its gradients is cuDNN's own and lies outside of the plan: the two
  /// calls of one number are a pair. -1: no gradients follow.
  int pair = -1;
};

/// Weights and biases of a layer as cuDNN has them, in elements: for each gate the matrix
/// [units, inputs] of the input, then for each [units, units] of the state, then a bias of the
/// input for each gate, and one of the state. Gates are in our order.
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

/// Machine::lower_external of a GPU: takes layers in the form that libraries have
/// (passes/library_layers.h), and their gradients.
bool lower_layer(LowerContext& context, const Node& node, ViewMap& views, const ViewMap& wanted);

/// What lower_layer() has said in a call. Throws an internal error for another function's call.
LayerCall layer_of(const ExternCall& call);

/// The addresses of a layer: x, h, c, weights, y, last h, last c, dy, last dh, last dc, dx, dh, dc,
/// dweights; null for absent ones.
std::array<const Address*, 14> layer_addresses(const ExternCall& call);

}  // namespace graphc::core::cuda
