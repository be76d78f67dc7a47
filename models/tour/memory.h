// SPDX-License-Identifier: Apache-2.0
// The neuron of the tour's first model with a memory.
#pragma once

#include "models/tour/neuron.h"

using namespace graphc;

/// A neuron that also sees its previous output: h = tanh(x w + b + h u).
struct Memory {
  Neuron neuron;
  Param u;

  explicit Memory(Model& m) : neuron(m), u(m.param("u", {1, 1}, constant(0.5))) {}

  /// xs [steps, batch, 3] to every h [steps, batch, 1]; leaves h after the last step.
  Value operator()(Value xs, State& h) const {
    return scan(xs, [&](Value x) {
      Value heard = neuron.sum(x);
      h = tanh(heard + matmul(h, u));
      return h;
    });
  }
};
