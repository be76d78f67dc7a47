// SPDX-License-Identifier: Apache-2.0
// Layers: parameters with the equation they stand in. Each is a struct whose members are its
// parameters, declared under `name`, so that they can be shared, frozen or read one by one. Nodes
// and errors of a layer have the line that calls it.
//
// The gates of a recurrent layer lie side by side along the last axis of its parameters. `run`
// takes a sequence xs [steps, batch, input] and states h (and c) [batch, hidden], gives every h
// [steps, batch, hidden], and leaves the states after the last step.
#pragma once

#include <string>

#include "frontend/model.h"
#include "frontend/scan.h"

namespace graphc {

/// x [..., in] to x w + b [..., out].
struct Linear {
  Param w, b;

  Linear(Model& model, const std::string& name, int64_t in, int64_t out,
         const Initializer& weights = glorot_uniform(), const Initializer& bias = zeros(),
         Where where = Where::here());
  Value operator()(Value x, Where where = Where::here()) const;
};

/// Integers [...] to rows of a table [..., width]. An integer outside the table is an error.
struct Embedding {
  Param table;

  Embedding(Model& model, const std::string& name, int64_t rows, int64_t width,
            const Initializer& weights = normal(1), Where where = Where::here());
  Value operator()(Value indices, Where where = Where::here()) const;
};

/// Normalises the last axis, then gain and bias.
struct LayerNorm {
  Param gain, bias;

  LayerNorm(Model& model, const std::string& name, int64_t width, Where where = Where::here());
  Value operator()(Value x, Where where = Where::here()) const;
};

/// i, f, g, o = x w + b + h u; c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c).
struct Lstm {
  Param w, u, b;

  Lstm(Model& model, const std::string& name, int64_t in, int64_t hidden,
       const Initializer& weights = glorot_uniform(), double forget_bias = 1,
       Where where = Where::here());
  /// One step of x [batch, in].
  void step(Value x, State& h, State& c, Where where = Where::here()) const;
  Value run(Value xs, State& h, State& c, Where where = Where::here()) const;
};

/// The GRU of PyTorch and cuDNN, reset after the product: r, z = sigmoid(x w + b + h u);
/// n = tanh(x w_n + b_n + r (h u_n + c)); h = (1 - z) n + z h. Gates in the order r, z, n.
struct Gru {
  Param w, u, b, c;

  Gru(Model& model, const std::string& name, int64_t in, int64_t hidden,
      const Initializer& weights = glorot_uniform(), Where where = Where::here());
  void step(Value x, State& h, Where where = Where::here()) const;
  Value run(Value xs, State& h, Where where = Where::here()) const;
};

/// h = tanh(x w + b + h u).
struct Rnn {
  Param w, u, b;

  Rnn(Model& model, const std::string& name, int64_t in, int64_t hidden,
      const Initializer& weights = glorot_uniform(), Where where = Where::here());
  void step(Value x, State& h, Where where = Where::here()) const;
  Value run(Value xs, State& h, Where where = Where::here()) const;
};

}  // namespace graphc
