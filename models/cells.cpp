// SPDX-License-Identifier: Apache-2.0
#include "models/cells.h"

#include <cmath>

#include "frontend/graphc.h"

namespace graphc::core {
namespace {

using States = std::vector<State>;

Initializer forget_gate_at_one() { return parts({zeros(), constant(1), zeros(), zeros()}); }

Cell lstm(Model& m, int64_t inputs, int64_t hidden) {
  const Param w = m.param("w", {inputs, 4 * hidden}, glorot_uniform());
  const Param u = m.param("u", {hidden, 4 * hidden}, glorot_uniform());
  const Param b = m.param("b", {4 * hidden}, forget_gate_at_one());
  return {{hidden, hidden}, [=](Value x, States& states) {
            State &h = states[0], &c = states[1];
            auto [i, f, g, o] = split<4>(matmul(x, w) + b + matmul(h, u));
            c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            h = sigmoid(o) * tanh(c);
          }};
}

Cell peephole_lstm(Model& m, int64_t inputs, int64_t hidden) {
  const Param w = m.param("w", {inputs, 4 * hidden}, glorot_uniform());
  const Param u = m.param("u", {hidden, 4 * hidden}, glorot_uniform());
  const Param b = m.param("b", {4 * hidden}, forget_gate_at_one());
  const Param p_i = m.param("p_i", {hidden}, uniform(0.1));
  const Param p_f = m.param("p_f", {hidden}, uniform(0.1));
  const Param p_o = m.param("p_o", {hidden}, uniform(0.1));
  return {{hidden, hidden}, [=](Value x, States& states) {
            State &h = states[0], &c = states[1];
            auto [i, f, g, o] = split<4>(matmul(x, w) + b + matmul(h, u));
            c = sigmoid(f + p_f * c) * c + sigmoid(i + p_i * c) * tanh(g);
            h = sigmoid(o + p_o * c) * tanh(c);
          }};
}

Cell layer_norm_lstm(Model& m, int64_t inputs, int64_t hidden) {
  const Param w = m.param("w", {inputs, 4 * hidden}, glorot_uniform());
  const Param u = m.param("u", {hidden, 4 * hidden}, glorot_uniform());
  const Param b = m.param("b", {4 * hidden}, forget_gate_at_one());
  const Param g1 = m.param("g1", {4 * hidden}, constant(1));
  const Param g2 = m.param("g2", {4 * hidden}, constant(1));
  const Param g3 = m.param("g3", {hidden}, constant(1));
  const Param b3 = m.param("b3", {hidden}, zeros());
  return {{hidden, hidden}, [=](Value x, States& states) {
            State &h = states[0], &c = states[1];
            const auto xw = split<4>(matmul(x, w)), hu = split<4>(matmul(h, u));
            const auto gain1 = split<4>(g1), gain2 = split<4>(g2), bias = split<4>(b);
            // Each gate is normalised separately, over its own units.
            const auto z = [&](size_t k) {
              return layer_norm(xw[k]) * gain1[k] + layer_norm(hu[k]) * gain2[k] + bias[k];
            };
            Value i = z(0), f = z(1), g = z(2), o = z(3);
            c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            h = sigmoid(o) * tanh(layer_norm(c) * g3 + b3);
          }};
}

Cell projected_lstm(Model& m, int64_t inputs, int64_t hidden) {
  if (hidden < 2)
    throw Error(ErrorKind::usage, {}, "projected-lstm: half of one unit is none: wanted hidden=2");
  const int64_t narrow = hidden / 2;
  const Param w = m.param("w", {inputs, 4 * hidden}, glorot_uniform());
  const Param u = m.param("u", {narrow, 4 * hidden}, glorot_uniform());
  const Param b = m.param("b", {4 * hidden}, forget_gate_at_one());
  const Param p = m.param("p", {hidden, narrow}, glorot_uniform());
  return {{narrow, hidden}, [=](Value x, States& states) {
            State &h = states[0], &c = states[1];
            auto [i, f, g, o] = split<4>(matmul(x, w) + b + matmul(h, u));
            c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            h = matmul(sigmoid(o) * tanh(c), p);
          }};
}

/// Gates in the order r, z, n; the second bias of n is `c`.
Cell gru(Model& m, int64_t inputs, int64_t hidden) {
  const Param w = m.param("w", {inputs, 3 * hidden}, glorot_uniform());
  const Param u = m.param("u", {hidden, 3 * hidden}, glorot_uniform());
  const Param b = m.param("b", {3 * hidden}, zeros());
  const Param c = m.param("c", {hidden}, zeros());
  return {{hidden}, [=](Value x, States& states) {
            State& h = states[0];
            auto [xr, xz, xn] = split<3>(matmul(x, w) + b);
            auto [hr, hz, hn] = split<3>(matmul(h, u));
            Value r = sigmoid(xr + hr), z = sigmoid(xz + hz);
            Value n = tanh(xn + r * (hn + c));
            h = (1 - z) * n + z * h;
          }};
}

/// `u` has the gates r and z; the reset is applied before the product with `u_n`.
Cell gru_reset_before(Model& m, int64_t inputs, int64_t hidden) {
  const Param w = m.param("w", {inputs, 3 * hidden}, glorot_uniform());
  const Param u = m.param("u", {hidden, 2 * hidden}, glorot_uniform());
  const Param u_n = m.param("u_n", {hidden, hidden}, glorot_uniform());
  const Param b = m.param("b", {3 * hidden}, zeros());
  return {{hidden}, [=](Value x, States& states) {
            State& h = states[0];
            auto [xr, xz, xn] = split<3>(matmul(x, w) + b);
            auto [hr, hz] = split<2>(matmul(h, u));
            Value r = sigmoid(xr + hr), z = sigmoid(xz + hz);
            Value n = tanh(xn + matmul(r * h, u_n));
            h = (1 - z) * n + z * h;
          }};
}

Cell rnn(Model& m, int64_t inputs, int64_t hidden) {
  const Param w = m.param("w", {inputs, hidden}, glorot_uniform());
  const Param u = m.param("u", {hidden, hidden}, glorot_uniform());
  const Param b = m.param("b", {hidden}, zeros());
  return {{hidden}, [=](Value x, States& states) {
            State& h = states[0];
            h = tanh(matmul(x, w) + b + matmul(h, u));
          }};
}

/// FLOP of a row times a matrix [rows, gates * hidden].
template <int gates>
double product_flop(double rows, double hidden) {
  return 2 * rows * gates * hidden;
}
template <int gates>
double square_flop(double hidden) {
  return product_flop<gates>(hidden, hidden);
}
/// FLOP of the products with u [hidden / 2, 4 hidden] and p [hidden, hidden / 2].
double projected_flop(double hidden) {
  const double narrow = std::floor(hidden / 2);
  return product_flop<4>(narrow, hidden) + product_flop<1>(hidden, narrow);
}

constexpr CellRecord kCells[] = {
    {"lstm", lstm, product_flop<4>, square_flop<4>},
    {"layer-norm-lstm", layer_norm_lstm, product_flop<4>, square_flop<4>},
    {"peephole-lstm", peephole_lstm, product_flop<4>, square_flop<4>},
    {"projected-lstm", projected_lstm, product_flop<4>, projected_flop},
    {"gru", gru, product_flop<3>, square_flop<3>},
    {"gru-reset-before", gru_reset_before, product_flop<3>, square_flop<3>},
    {"rnn", rnn, product_flop<1>, square_flop<1>},
};

}  // namespace

std::span<const CellRecord> all_cells() { return kCells; }

std::vector<State> zero_states(const Cell& cell, int64_t batch) {
  std::vector<State> states;
  for (const int64_t width : cell.widths) {
    states.emplace_back(filled({batch, width}, 0), states.empty() ? "h" : "c");
  }
  return states;
}

}  // namespace graphc::core
