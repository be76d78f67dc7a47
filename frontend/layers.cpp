// SPDX-License-Identifier: Apache-2.0
#include "frontend/layers.h"

#include "frontend/functions.h"
#include "ir/mutant.h"

namespace graphc::core {

namespace {

/// The state before the first step of xs [steps, batch, in], for u [hidden, ...].
State zero_state(Value xs, const Param& u, const char* name, Where where) {
  if (xs.shape().rank() != 3)
    throw input_error(where, "a recurrent layer takes [steps, batch, width]: found {}",
                      to_string(xs.type()));
  return State(filled({xs.shape()[1], u.shape()[0]}, 0, xs.dtype(), where), name, where);
}

/// The biases of the gates i, f, g, o.
Initializer gate_biases(double forget) {
  if (mutated(Mutant::forget_bias_dropped)) forget = 0;
  return parts({zeros(), constant(forget), zeros(), zeros()});
}

}  // namespace

Linear::Linear(Model& model, const std::string& name, int64_t in, int64_t out,
               const Initializer& weights, const Initializer& bias, Where where)
    : w(model.param(name + ".w", {in, out}, weights, where)),
      b(model.param(name + ".b", {out}, bias, where)) {}

Value Linear::operator()(Value x, Where where) const {
  const WhereScope scope(where);
  return matmul(x, w) + b;
}

Embedding::Embedding(Model& model, const std::string& name, int64_t rows, int64_t width,
                     const Initializer& weights, Where where)
    : table(model.param(name, {rows, width}, weights, where)) {}

Value Embedding::operator()(Value indices, Where where) const {
  return gather(table, indices, where);
}

LayerNorm::LayerNorm(Model& model, const std::string& name, int64_t width, Where where)
    : gain(model.param(name + ".gain", {width}, constant(1), where)),
      bias(model.param(name + ".bias", {width}, zeros(), where)) {}

Value LayerNorm::operator()(Value x, Where where) const {
  const WhereScope scope(where);
  return layer_norm(x) * gain + bias;
}

Value Dropout::operator()(Value x, Where where) const { return dropout(x, share, where); }

Lstm::Lstm(Model& model, const std::string& name, int64_t in, int64_t hidden,
           const Initializer& weights, double forget_bias, Where where)
    : w(model.param(name + ".w", {in, 4 * hidden}, weights, where)),
      u(model.param(name + ".u", {hidden, 4 * hidden}, weights, where)),
      b(model.param(name + ".b", {4 * hidden}, gate_biases(forget_bias), where)) {}

void Lstm::step(Value x, State& h, State& c, Where where) const {
  const WhereScope scope(where);
  Value z = matmul(x, w) + b + matmul(h, u);
  if (mutated(Mutant::bias_added_twice)) z = z + b;
  auto [i, f, g, o] = split<4>(z);
  if (mutated(Mutant::gates_i_o_swapped)) std::swap(i, o);
  if (mutated(Mutant::gates_f_g_swapped)) std::swap(f, g);
  c = sigmoid(f) * c + sigmoid(i) * tanh(g);
  h = sigmoid(o) * tanh(c);
}

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
  State h = zero_state(xs, u, "h", where), c = zero_state(xs, u, "c", where);
  return run(xs, h, c, options, where);
}

Gru::Gru(Model& model, const std::string& name, int64_t in, int64_t hidden,
         const Initializer& weights, Where where)
    : w(model.param(name + ".w", {in, 3 * hidden}, weights, where)),
      u(model.param(name + ".u", {hidden, 3 * hidden}, weights, where)),
      b(model.param(name + ".b", {3 * hidden}, zeros(), where)),
      c(model.param(name + ".c", {hidden}, zeros(), where)) {}

void Gru::step(Value x, State& h, Where where) const {
  const WhereScope scope(where);
  auto [xr, xz, xn] = split<3>(matmul(x, w) + b);
  auto [hr, hz, hn] = split<3>(matmul(h, u));
  Value r = sigmoid(xr + hr), z = sigmoid(xz + hz);
  Value n = tanh(xn + r * (hn + c));
  h = (1 - z) * n + z * h;
}

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
  State h = zero_state(xs, u, "h", where);
  return run(xs, h, options, where);
}

Rnn::Rnn(Model& model, const std::string& name, int64_t in, int64_t hidden,
         const Initializer& weights, Where where)
    : w(model.param(name + ".w", {in, hidden}, weights, where)),
      u(model.param(name + ".u", {hidden, hidden}, weights, where)),
      b(model.param(name + ".b", {hidden}, zeros(), where)) {}

void Rnn::step(Value x, State& h, Where where) const {
  const WhereScope scope(where);
  h = tanh(matmul(x, w) + b + matmul(h, u));
}

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
  State h = zero_state(xs, u, "h", where);
  return run(xs, h, options, where);
}

}  // namespace graphc::core
