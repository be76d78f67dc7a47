// SPDX-License-Identifier: Apache-2.0
#include "frontend/layers.h"

#include "frontend/functions.h"
#include "frontend/intervals.h"
#include "ir/called.h"
#include "ir/mutant.h"

namespace graphc::core {

namespace {

/// The shape of a layer's parameter; errors are at the line that makes the layer.
Shape extents(std::initializer_list<int64_t> sizes, Where where) {
  for (const int64_t size : sizes) {
    if (size < 0) throw input_error(where, "the size of a layer is from 0 on: found {}", size);
  }
  return Shape(sizes, where);
}

/// The state before the first step of xs [steps, batch, in], for u [hidden, ...].
State zero_state(Value xs, const Param& u, const char* name, Where where) {
  xs.expect_usable(where);
  if (xs.shape().rank() != 3)
    throw input_error(where, "a recurrent layer takes [steps, batch, width]: found {}",
                      to_string(xs.type()));
  return State(filled({xs.shape()[1], u.shape()[0]}, 0, xs.dtype(), where), name, where);
}

/// The bias of a layer, if it has one.
std::optional<Param> bias_of(Model& model, const std::string& name, int64_t width,
                             const Initializer& initial, const LayerOptions& options, Where where) {
  if (!options.bias) return std::nullopt;
  return model.param(name, extents({width}, where), options.biases ? options.biases : initial,
                     where);
}

Value plus(Value x, const std::optional<Param>& bias) { return bias ? x + *bias : x; }

/// The parameters, and the biases that exist.
Params listed(std::vector<Param> all, const std::vector<std::optional<Param>>& biases) {
  for (const std::optional<Param>& bias : biases) {
    if (bias) all.push_back(*bias);
  }
  return all;
}

/// The biases of the gates i, f, g, o.
Initializer gate_biases(double forget, Where where) {
  expect_in("Lstm", "forget_bias", forget, kFinite, where);
  if (mutated(Mutant::forget_bias_dropped)) forget = 0;
  return parts({zeros(), constant(forget), zeros(), zeros()});
}

}  // namespace

Linear::Linear(Model& model, const std::string& name, int64_t in, int64_t out,
               const Initializer& weights, const Initializer& bias, Where where)
    : w(model.param(name + ".w", extents({in, out}, where), weights, where)),
      b(model.param(name + ".b", extents({out}, where), bias, where)) {}

Linear::Linear(Model& model, const std::string& name, int64_t in, int64_t out, LayerOptions options,
               Where where)
    : w(model.param(name + ".w", extents({in, out}, where), options.weights, where)),
      b(bias_of(model, name + ".b", out, zeros(), options, where)) {}

Value Linear::operator()(Value x, Where where) const {
  const Called called("Linear", where);
  return plus(matmul(x, w), b);
}

Params Linear::params() const { return listed({w}, {b}); }

Embedding::Embedding(Model& model, const std::string& name, int64_t rows, int64_t width,
                     const Initializer& weights, Where where)
    : table(model.param(name, extents({rows, width}, where), weights, where)) {}

Value Embedding::operator()(Value indices, Where where) const {
  const Called called("Embedding", where);
  return gather(table, indices, where);
}

LayerNorm::LayerNorm(Model& model, const std::string& name, int64_t width, Where where)
    : gain(model.param(name + ".gain", extents({width}, where), constant(1), where)),
      bias(model.param(name + ".bias", extents({width}, where), zeros(), where)) {}

Value LayerNorm::operator()(Value x, Where where) const {
  const Called called("LayerNorm", where);
  const int64_t width = gain.shape()[0];
  if (x.shape().rank() == 0 || x.shape()[-1] != width) {
    throw input_error(where, "LayerNorm: wanted [..., {}], its width last: found {}", width,
                      to_string(x.type()));
  }
  return layer_norm(x) * gain + bias;
}

Value Dropout::operator()(Value x, Where where) const { return dropout(x, share, where); }

Lstm::Lstm(Model& model, const std::string& name, int64_t in, int64_t hidden,
           const Initializer& weights, double forget_bias, Where where)
    : w(model.param(name + ".w", extents({in, 4 * hidden}, where), weights, where)),
      u(model.param(name + ".u", extents({hidden, 4 * hidden}, where), weights, where)),
      b(model.param(name + ".b", extents({4 * hidden}, where), gate_biases(forget_bias, where),
                    where)) {}

Lstm::Lstm(Model& model, const std::string& name, int64_t in, int64_t hidden, LayerOptions options,
           Where where)
    : w(model.param(name + ".w", extents({in, 4 * hidden}, where), options.weights, where)),
      u(model.param(name + ".u", extents({hidden, 4 * hidden}, where), options.weights, where)),
      b(bias_of(model, name + ".b", 4 * hidden, gate_biases(1, where), options, where)) {}

void Lstm::step(Value x, State& h, State& c, Where where) const {
  const Called called("Lstm", where);
  if (h.cell() == c.cell()) {
    throw input_error(where, "Lstm: h and c are one state, '{}': it has two", h.name());
  }
  Value z = plus(matmul(x, w), b) + matmul(h, u);
  if (mutated(Mutant::bias_added_twice)) z = plus(z, b);
  auto [i, f, g, o] = split<4>(z);
  if (mutated(Mutant::gates_i_o_swapped)) std::swap(i, o);
  if (mutated(Mutant::gates_f_g_swapped)) std::swap(f, g);
  c = sigmoid(f) * c + sigmoid(i) * tanh(g);
  h = sigmoid(o) * tanh(c);
}

Params Lstm::params() const { return listed({w, u}, {b}); }

Value Lstm::run(Value xs, State& h, State& c, ScanOptions options, Where where) const {
  return scan(
      xs,
      [&](Value x) {
        step(x, h, c, where);
        return h;
      },
      options, where);
}

Value Lstm::operator()(Value xs, ScanOptions options, Where where) const {
  const Called called("Lstm", where);
  State h = zero_state(xs, u, "h", where), c = zero_state(xs, u, "c", where);
  return run(xs, h, c, options, where);
}

Gru::Gru(Model& model, const std::string& name, int64_t in, int64_t hidden,
         const Initializer& weights, Where where)
    : Gru(model, name, in, hidden, LayerOptions{.weights = weights}, where) {}

Gru::Gru(Model& model, const std::string& name, int64_t in, int64_t hidden, LayerOptions options,
         Where where)
    : w(model.param(name + ".w", extents({in, 3 * hidden}, where), options.weights, where)),
      u(model.param(name + ".u", extents({hidden, 3 * hidden}, where), options.weights, where)),
      b(bias_of(model, name + ".b", 3 * hidden, zeros(), options, where)),
      c(bias_of(model, name + ".c", hidden, zeros(), options, where)) {}

void Gru::step(Value x, State& h, Where where) const {
  const Called called("Gru", where);
  auto [xr, xz, xn] = split<3>(plus(matmul(x, w), b));
  auto [hr, hz, hn] = split<3>(matmul(h, u));
  Value r = sigmoid(xr + hr), z = sigmoid(xz + hz);
  Value n = tanh(xn + r * plus(hn, c));
  h = (1 - z) * n + z * h;
}

Params Gru::params() const { return listed({w, u}, {b, c}); }

Value Gru::run(Value xs, State& h, ScanOptions options, Where where) const {
  return scan(
      xs,
      [&](Value x) {
        step(x, h, where);
        return h;
      },
      options, where);
}

Value Gru::operator()(Value xs, ScanOptions options, Where where) const {
  const Called called("Gru", where);
  State h = zero_state(xs, u, "h", where);
  return run(xs, h, options, where);
}

Rnn::Rnn(Model& model, const std::string& name, int64_t in, int64_t hidden,
         const Initializer& weights, Where where)
    : Rnn(model, name, in, hidden, LayerOptions{.weights = weights}, where) {}

Rnn::Rnn(Model& model, const std::string& name, int64_t in, int64_t hidden, LayerOptions options,
         Where where)
    : w(model.param(name + ".w", extents({in, hidden}, where), options.weights, where)),
      u(model.param(name + ".u", extents({hidden, hidden}, where), options.weights, where)),
      b(bias_of(model, name + ".b", hidden, zeros(), options, where)) {}

void Rnn::step(Value x, State& h, Where where) const {
  const Called called("Rnn", where);
  h = tanh(plus(matmul(x, w), b) + matmul(h, u));
}

Params Rnn::params() const { return listed({w, u}, {b}); }

Value Rnn::run(Value xs, State& h, ScanOptions options, Where where) const {
  return scan(
      xs,
      [&](Value x) {
        step(x, h, where);
        return h;
      },
      options, where);
}

Value Rnn::operator()(Value xs, ScanOptions options, Where where) const {
  const Called called("Rnn", where);
  State h = zero_state(xs, u, "h", where);
  return run(xs, h, options, where);
}

}  // namespace graphc::core
