// SPDX-License-Identifier: Apache-2.0
// The first model of the tour: one neuron.
#pragma once

#include "frontend/graphc.h"

using namespace graphc;

/// tanh(x w + b): x [batch, 3] to [batch, 1].
struct Neuron {
  Param w, b;

  explicit Neuron(Model& m)
      : w(m.param("w", {3, 1}, constant(0.5))), b(m.param("b", {1}, zeros())) {}

  /// The weighted sum, [batch, 1].
  Value sum(Value x) const { return matmul(x, w) + b; }
  Value operator()(Value x) const { return tanh(sum(x)); }
};
