// SPDX-License-Identifier: Apache-2.0
// Layers: parameters together with their equation. Each is a struct whose members are its
// parameters, declared under `name`, so that they can be shared, frozen or read individually. The
// nodes and errors of a layer carry the line of its call.
//
// The gates of a recurrent layer are packed along the last axis of its parameters. `run` takes a
// sequence xs [steps, batch, input] and states h (and c) [batch, hidden], returns every h [steps,
// batch, hidden], and leaves the states at their values after the last step. Calling the layer as a
// function starts from zero states. `{.reverse = true}` runs from the last step to the first.
// `{.lengths = n}`, n integers [batch], treats every row as if it were alone: its states stay at
// their values after its own last step, xs past its end has no influence, and the layer returns
// zeros there; `reverse` starts at each row's own last step.
//
// `params()` returns the parameters of a layer: `minimize(loss, head.params(), Adam{})` trains one
// part of a model. Layers have a bias unless LayerOptions say otherwise.
#pragma once

#include <optional>
#include <string>

#include "frontend/functions.h"
#include "frontend/model.h"
#include "frontend/scan.h"

namespace graphc::core {

template <typename Layer>
struct Bidirectional;

/// The width of a recurrent layer's output per step, as a multiple of its units.
template <typename Layer>
struct Width {
  static constexpr int64_t parts = 1;
};
template <typename Layer>
struct Width<Bidirectional<Layer>> {
  static constexpr int64_t parts = 2 * Width<Layer>::parts;
};

/// Options of layers with matrices: `Linear(m, "out", 8, 4, {.bias = false})`.
struct LayerOptions {
  Initializer weights = glorot_uniform();
  bool bias = true;
  Initializer biases = {};  ///< default: zeros, and 1 for the forget gate of an Lstm
};

/// Makes a layer for Bidirectional and Stacked, at the user's line. A user-defined layer takes
/// LayerOptions, or only the initialiser of its weights.
template <typename Layer>
Layer make_layer(Model& model, const std::string& name, int64_t in, int64_t hidden,
                 const LayerOptions& options, Where where) {
  if constexpr (requires { Layer(model, name, in, hidden, options, where); }) {
    return Layer(model, name, in, hidden, options, where);
  } else {
    if (!options.bias)
      throw input_error(where, "layer '{}' takes no LayerOptions: it cannot leave its bias out",
                        name);
    return Layer(model, name, in, hidden, options.weights, where);
  }
}

/// x w + b for x [..., in]: [..., out]. Without a bias: x w.
struct Linear {
  Param w;
  std::optional<Param> b;

  Linear(Model& model, const std::string& name, int64_t in, int64_t out,
         const Initializer& weights = glorot_uniform(), const Initializer& bias = zeros(),
         Where where = Where::here());
  Linear(Model& model, const std::string& name, int64_t in, int64_t out, LayerOptions options,
         Where where = Where::here());
  Value operator()(Value x, Where where = Where::here()) const;
  Params params() const;
};

/// Integers [...] to rows of a table [..., width]. An integer outside the table is an error.
struct Embedding {
  Param table;

  Embedding(Model& model, const std::string& name, int64_t rows, int64_t width,
            const Initializer& weights = normal(1), Where where = Where::here());
  Value operator()(Value indices, Where where = Where::here()) const;
  Params params() const { return {table}; }
};

/// Normalises the last axis, then applies gain and bias.
struct LayerNorm {
  Param gain, bias;

  LayerNorm(Model& model, const std::string& name, int64_t width, Where where = Where::here());
  Value operator()(Value x, Where where = Where::here()) const;
  Params params() const { return {gain, bias}; }
};

/// In training, keeps each element with a probability and divides it by that probability; see
/// dropout(). `Dropout drop({.rate = 0.1})` drops a tenth.
struct Dropout {
  DropoutShare share;

  explicit Dropout(DropoutShare how_much) : share(how_much) {}
  template <typename Number>
    requires std::is_arithmetic_v<Number>
  explicit Dropout(Number) = delete;  // write Dropout({.rate = 0.1}) or Dropout({.keep = 0.9})
  Value operator()(Value x, Where where = Where::here()) const;
};

/// i, f, g, o = x w + b + h u; c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c).
struct Lstm {
  Param w, u;
  std::optional<Param> b;

  Lstm(Model& model, const std::string& name, int64_t in, int64_t hidden,
       const Initializer& weights = glorot_uniform(), double forget_bias = 1,
       Where where = Where::here());
  /// Without a bias there is no forget bias either.
  Lstm(Model& model, const std::string& name, int64_t in, int64_t hidden, LayerOptions options,
       Where where = Where::here());
  /// One step of x [batch, in].
  void step(Value x, State& h, State& c, Where where = Where::here()) const;
  Value run(Value xs, State& h, State& c, ScanOptions options = {},
            Where where = Where::here()) const;
  Value operator()(Value xs, ScanOptions options = {}, Where where = Where::here()) const;
  Params params() const;
};

/// The GRU of PyTorch and cuDNN, with the reset gate applied after the product: r, z = sigmoid(x w
/// + b + h u); n = tanh(x w_n + b_n + r (h u_n + c)); h = (1 - z) n + z h. Gates in the order r, z,
/// n.
struct Gru {
  Param w, u;
  std::optional<Param> b, c;

  Gru(Model& model, const std::string& name, int64_t in, int64_t hidden,
      const Initializer& weights = glorot_uniform(), Where where = Where::here());
  Gru(Model& model, const std::string& name, int64_t in, int64_t hidden, LayerOptions options,
      Where where = Where::here());
  void step(Value x, State& h, Where where = Where::here()) const;
  Value run(Value xs, State& h, ScanOptions options = {}, Where where = Where::here()) const;
  Value operator()(Value xs, ScanOptions options = {}, Where where = Where::here()) const;
  Params params() const;
};

/// h = tanh(x w + b + h u).
struct Rnn {
  Param w, u;
  std::optional<Param> b;

  Rnn(Model& model, const std::string& name, int64_t in, int64_t hidden,
      const Initializer& weights = glorot_uniform(), Where where = Where::here());
  Rnn(Model& model, const std::string& name, int64_t in, int64_t hidden, LayerOptions options,
      Where where = Where::here());
  void step(Value x, State& h, Where where = Where::here()) const;
  Value run(Value xs, State& h, ScanOptions options = {}, Where where = Where::here()) const;
  Value operator()(Value xs, ScanOptions options = {}, Where where = Where::here()) const;
  Params params() const;
};

/// Two recurrent layers over one sequence, one of them in reverse: xs [steps, batch, in] to [steps,
/// batch, 2 hidden]. `Bidirectional<Lstm> layer(model, "encoder", in, hidden)`.
template <typename Layer>
struct Bidirectional {
  Layer forward, backward;

  Bidirectional(Model& model, const std::string& name, int64_t in, int64_t hidden,
                const Initializer& weights = glorot_uniform(), Where where = Where::here())
      : Bidirectional(model, name, in, hidden, LayerOptions{.weights = weights}, where) {}
  Bidirectional(Model& model, const std::string& name, int64_t in, int64_t hidden,
                LayerOptions options, Where where = Where::here())
      : forward(make_layer<Layer>(model, name + ".forward", in, hidden, options, where)),
        backward(make_layer<Layer>(model, name + ".backward", in, hidden, options, where)) {}

  Value operator()(Value xs, ScanOptions options = {}, Where where = Where::here()) const {
    ScanOptions other = options;
    other.reverse = !options.reverse;
    return concat({forward(xs, options, where), backward(xs, other, where)}, 2, where);
  }
  Params params() const { return forward.params() + backward.params(); }
};

/// A stack of recurrent layers with dropout between them: xs [steps, batch, in] to the output of
/// the last layer.
/// `Stacked<Bidirectional<Gru>> layers(model, "encoder", 3, in, hidden, {.rate = 0.2})`.
template <typename Layer>
struct Stacked {
  std::vector<Layer> layers;
  Dropout between;

  Stacked(Model& model, const std::string& name, int count, int64_t in, int64_t hidden,
          DropoutShare dropped = {}, const Initializer& weights = glorot_uniform(),
          Where where = Where::here())
      : Stacked(model, name, count, in, hidden, dropped, LayerOptions{.weights = weights}, where) {}
  Stacked(Model& model, const std::string& name, int count, int64_t in, int64_t hidden,
          DropoutShare dropped, LayerOptions options, Where where = Where::here())
      : between(dropped) {
    if (count < 1)
      throw input_error(where, "Stacked '{}': there is at least one layer: found {}", name, count);
    for (int i = 0; i < count; ++i) {
      layers.push_back(make_layer<Layer>(model, name + "." + std::to_string(i),
                                         i == 0 ? in : Width<Layer>::parts * hidden, hidden,
                                         options, where));
    }
  }

  Value operator()(Value xs, ScanOptions options = {}, Where where = Where::here()) const {
    for (size_t i = 0; i < layers.size(); ++i)
      xs = layers[i](i == 0 ? xs : between(xs, where), options, where);
    return xs;
  }
  Params params() const {
    Params all;
    for (const Layer& layer : layers) all = all + layer.params();
    return all;
  }
};

}  // namespace graphc::core
