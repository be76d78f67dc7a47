// SPDX-License-Identifier: Apache-2.0
#include "frontend/blocks.h"

#include <cmath>

#include "frontend/cell_steps.h"
#include "ir/called.h"

namespace graphc::core {
namespace {

constexpr double kInfinity = HUGE_VAL;

/// x [..., n] divided by the norm of its last axis.
Value unit(Value x) { return x * rsqrt(sum(square(x), -1, true) + 1e-6); }
Value rms_norm(Value x) { return x * rsqrt(mean(square(x), -1, true) + 1e-5); }

/// The halves of the last axis.
std::array<Value, 2> halves(Value x) { return split<2>(x); }

/// An initialiser of matrices, for each matrix of [count, rows, columns] by itself.
Initializer for_each_matrix(const Initializer& weights) {
  return [weights](Value key, const Type& type) {
    Values matrices;
    for (int64_t i = 0; i < type.shape[0]; ++i)
      matrices.push_back(weights(fold_in(key, i), {type.dtype, type.shape.without(0)}));
    return stack(matrices);
  };
}

/// log 1, log 2, ... along the last axis.
Value logarithms(Value key, const Type& type) {
  return log(iota(*key.node->graph, type.shape, type.shape.rank() - 1, type.dtype) + 1);
}

/// L with softplus(L) log-uniform in [-log(0.999) / 8, -log(0.9) / 8]: the decays of rg_lru where
/// its gate is open.
Value slow_decays(Value key, const Type& type) {
  const double low = std::log(-std::log(0.999) / 8), high = std::log(-std::log(0.9) / 8);
  const Value rate = exp(uniform(key, type.shape) * (high - low) + low);
  return log(expm1(rate));
}

Shape sizes(std::initializer_list<int64_t> extents, Where where) { return Shape(extents, where); }

}  // namespace

RecurrentBlock::RecurrentBlock(const char* kind, int64_t in, int64_t hidden, int64_t heads,
                               Where where)
    : kind_(kind), in_(in), hidden_(hidden), heads_(heads) {
  if (in < 1 || hidden < 1 || heads < 1 || hidden % heads != 0) {
    throw input_error(where,
                      "{}: wanted at least one input and one unit, and heads that divide the "
                      "units: found {} inputs, {} units, {} heads",
                      kind, in, hidden, heads);
  }
}

std::vector<State> RecurrentBlock::carried(Inputs& in, const std::string& prefix, int64_t batch,
                                           StateOptions options, Where where) const {
  std::vector<State> list;
  for (const BlockState& state : states(batch)) {
    list.push_back(
        in.state(prefix + state.name, state.shape, constant(state.start), options, where));
  }
  return list;
}

Value RecurrentBlock::step(Value x, std::vector<State>& given, Where where) const {
  const Called called(kind_, where);
  x.expect_usable(where);
  if (x.shape().rank() != 2 || x.shape()[1] != in_) {
    throw input_error(where, "{}: a step takes [batch, {}]: found {}", kind_, in_,
                      to_string(x.type()));
  }
  const std::vector<BlockState> wanted = states(x.shape()[0]);
  if (given.size() != wanted.size()) {
    throw input_error(where, "{}: {} state{} wanted: found {}", kind_, wanted.size(),
                      wanted.size() == 1 ? " is" : "s are", given.size());
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (given[i].shape() == wanted[i].shape) continue;
    throw input_error(where, "{}: its state '{}' is [{}] for these rows: found [{}]", kind_,
                      wanted[i].name, to_string(wanted[i].shape), to_string(given[i].shape()));
  }
  return next(x, given);
}

Value RecurrentBlock::run(Value xs, std::vector<State>& given, ScanOptions options,
                          Where where) const {
  return scan(xs, [&](Value x) { return step(x, given, where); }, options, where);
}

Value RecurrentBlock::operator()(Value xs, ScanOptions options, Where where) const {
  const Called called(kind_, where);
  xs.expect_usable(where);
  if (xs.shape().rank() != 3) {
    throw input_error(where, "a recurrent layer takes [steps, batch, width]: found {}",
                      to_string(xs.type()));
  }
  std::vector<State> list;
  for (const BlockState& state : states(xs.shape()[1]))
    list.emplace_back(filled(state.shape, state.start, xs.dtype(), where), state.name, where);
  return run(xs, list, options, where);
}

Value RecurrentBlock::by_head(Value x) const {
  return reshape(x, {x.shape()[0], heads_, x.shape()[1] / heads_});
}

Value RecurrentBlock::joined(Value x) const { return reshape(x, {x.shape()[0], hidden_}); }

GatedDelta::GatedDelta(Model& m, const std::string& name, int64_t in, int64_t hidden,
                       const Initializer& weights, Where where)
    : GatedDelta(m, name, in, hidden, HeadOptions{.weights = weights}, where) {}

GatedDelta::GatedDelta(Model& m, const std::string& name, int64_t in, int64_t hidden,
                       HeadOptions options, Where where)
    : RecurrentBlock("GatedDelta", in, hidden, options.heads, where),
      w(m.param(name + ".w", sizes({in, 4 * hidden}, where), options.weights, where)),
      w_gates(m.param(name + ".w_gates", sizes({in, 2 * heads()}, where), options.weights, where)),
      a(m.param(name + ".a", sizes({heads()}, where), zeros(), where)),
      b_g(m.param(name + ".b_g", sizes({heads()}, where), constant(-4.6), where)),
      gain(m.param(name + ".gain", sizes({width()}, where), constant(1), where)),
      w_out(m.param(name + ".w_out", sizes({hidden, hidden}, where), options.weights, where)) {}

std::vector<BlockState> GatedDelta::states(int64_t batch) const {
  return {{"s", {batch, heads(), width(), width()}}};
}

Value GatedDelta::next(Value x, std::vector<State>& states) const {
  const auto [q, k, v, z] = split<4>(matmul(x, w));
  const auto [g, beta] = halves(matmul(x, w_gates));
  const Value o = gated_delta(unit(by_head(silu(q))), unit(by_head(silu(k))), by_head(silu(v)),
                              exp(a) * softplus(g + b_g), sigmoid(beta), states[0]) *
                  (1 / std::sqrt(double(width())));
  return matmul(joined(rms_norm(o) * gain) * silu(z), w_out);
}

Mlstm::Mlstm(Model& m, const std::string& name, int64_t in, int64_t hidden,
             const Initializer& weights, Where where)
    : Mlstm(m, name, in, hidden, HeadOptions{.weights = weights}, where) {}

Mlstm::Mlstm(Model& m, const std::string& name, int64_t in, int64_t hidden, HeadOptions options,
             Where where)
    : RecurrentBlock("Mlstm", in, hidden, options.heads, where),
      w(m.param(name + ".w", sizes({in, 4 * hidden}, where), options.weights, where)),
      w_gates(m.param(name + ".w_gates", sizes({in, 2 * heads()}, where), options.weights, where)),
      b_gates(m.param(name + ".b_gates", sizes({2 * heads()}, where), parts({zeros(), constant(3)}),
                      where)),
      gain(m.param(name + ".gain", sizes({hidden}, where), constant(1), where)),
      w_out(m.param(name + ".w_out", sizes({hidden, hidden}, where), options.weights, where)) {}

std::vector<BlockState> Mlstm::states(int64_t batch) const {
  return {{"c", {batch, heads(), width(), width()}},
          {"n", {batch, heads(), width()}},
          {"m", {batch, heads()}, -kInfinity}};
}

Value Mlstm::next(Value x, std::vector<State>& states) const {
  const auto [q, k, v, o] = split<4>(matmul(x, w));
  const auto [i, f] = halves(matmul(x, w_gates) + b_gates);
  const Value h = mlstm(by_head(q), by_head(k), by_head(v), i, f, states[0], states[1], states[2]);
  return matmul(joined(layer_norm(h)) * gain * sigmoid(o), w_out);
}

Slstm::Slstm(Model& m, const std::string& name, int64_t in, int64_t hidden,
             const Initializer& weights, Where where)
    : Slstm(m, name, in, hidden, HeadOptions{.weights = weights}, where) {}

Slstm::Slstm(Model& m, const std::string& name, int64_t in, int64_t hidden, HeadOptions options,
             Where where)
    : RecurrentBlock("Slstm", in, hidden, options.heads, where),
      w(m.param(name + ".w", sizes({in, 4 * hidden}, where), options.weights, where)),
      u(m.param(name + ".u", sizes({heads(), width(), 4 * width()}, where),
                for_each_matrix(options.weights), where)),
      b(m.param(name + ".b", sizes({heads(), 4 * width()}, where),
                parts({zeros(), constant(1), zeros(), zeros()}), where)),
      gain(m.param(name + ".gain", sizes({hidden}, where), constant(1), where)) {}

std::vector<BlockState> Slstm::states(int64_t batch) const {
  const Shape shape{batch, heads(), width()};
  return {{"h", shape}, {"c", shape}, {"n", shape}, {"m", shape, -kInfinity}};
}

Value Slstm::next(Value x, std::vector<State>& states) const {
  const Value z = by_head(matmul(x, w)) + b + einsum("bnd,nde->bne", {states[0], u});
  const Value h = slstm(z, states[0], states[1], states[2], states[3]);
  return joined(layer_norm(h)) * gain;
}

SelectiveScan::SelectiveScan(Model& m, const std::string& name, int64_t in, int64_t hidden,
                             const Initializer& weights, Where where)
    : SelectiveScan(m, name, in, hidden, SelectiveScanOptions{.weights = weights}, where) {}

SelectiveScan::SelectiveScan(Model& m, const std::string& name, int64_t in, int64_t hidden,
                             SelectiveScanOptions options, Where where)
    : RecurrentBlock("SelectiveScan", in, hidden, 1, where),
      w(m.param(name + ".w", sizes({in, 2 * hidden}, where), options.weights, where)),
      w_bc(m.param(name + ".w_bc", sizes({hidden, 2 * options.state}, where), options.weights,
                   where)),
      w_low(m.param(name + ".w_low", sizes({hidden, (hidden + 15) / 16}, where), options.weights,
                    where)),
      w_delta(m.param(name + ".w_delta", sizes({(hidden + 15) / 16, hidden}, where),
                      options.weights, where)),
      b_delta(m.param(name + ".b_delta", sizes({hidden}, where), constant(-4.6), where)),
      a(m.param(name + ".a", sizes({hidden, options.state}, where), logarithms, where)),
      skip(m.param(name + ".skip", sizes({hidden}, where), constant(1), where)),
      w_out(m.param(name + ".w_out", sizes({hidden, hidden}, where), options.weights, where)) {
  if (options.state < 1)
    throw input_error(where, "SelectiveScan: a state has at least one number: found {}",
                      options.state);
}

std::vector<BlockState> SelectiveScan::states(int64_t batch) const {
  return {{"h", {batch, hidden(), a.shape()[1]}}};
}

Value SelectiveScan::next(Value x, std::vector<State>& states) const {
  const auto [input, z] = halves(matmul(x, w));
  const Value u = silu(input);
  const auto [b, c] = halves(matmul(u, w_bc));
  const Value delta = matmul(matmul(u, w_low), w_delta) + b_delta;
  return matmul(selective_scan(delta, u, b, c, a, skip, states[0]) * silu(z), w_out);
}

Rwkv7::Rwkv7(Model& m, const std::string& name, int64_t in, int64_t hidden,
             const Initializer& weights, Where where)
    : Rwkv7(m, name, in, hidden, HeadOptions{.weights = weights}, where) {}

Rwkv7::Rwkv7(Model& m, const std::string& name, int64_t in, int64_t hidden, HeadOptions options,
             Where where)
    : RecurrentBlock("Rwkv7", in, hidden, options.heads, where),
      w(m.param(name + ".w", sizes({in, 6 * hidden}, where), options.weights, where)),
      w_0(m.param(name + ".w_0", sizes({hidden}, where), constant(-2), where)),
      a_0(m.param(name + ".a_0", sizes({hidden}, where), zeros(), where)),
      removal(m.param(name + ".removal", sizes({hidden}, where), constant(1), where)),
      replacement(m.param(name + ".replacement", sizes({hidden}, where), constant(1), where)),
      bonus(m.param(name + ".bonus", sizes({hidden}, where), uniform(0.1), where)),
      gain(m.param(name + ".gain", sizes({hidden}, where), constant(1), where)),
      bias(m.param(name + ".bias", sizes({hidden}, where), zeros(), where)),
      w_out(m.param(name + ".w_out", sizes({hidden, hidden}, where), options.weights, where)) {}

std::vector<BlockState> Rwkv7::states(int64_t batch) const {
  return {{"s", {batch, heads(), width(), width()}}};
}

Value Rwkv7::next(Value x, std::vector<State>& states) const {
  const auto [r_x, w_x, k_x, v_x, a_x, g] = split<6>(matmul(x, w));
  const Value decay = sigmoid(w_x + w_0) * -std::exp(-0.5), rate = by_head(sigmoid(a_x + a_0));
  const Value r = by_head(r_x), v = by_head(v_x), kappa = unit(by_head(k_x * removal));
  const Value k = by_head(k_x) * (1 + (rate - 1) * reshape(replacement, {heads(), width()}));
  const Value o = rwkv7(r, by_head(decay), k, v, neg(kappa), kappa * rate, states[0]);
  const Value now = sum(r * k * reshape(bonus, {heads(), width()}), -1, true) * v;
  return matmul((joined(layer_norm(o)) * gain + bias + joined(now)) * sigmoid(g), w_out);
}

RgLru::RgLru(Model& m, const std::string& name, int64_t in, int64_t hidden,
             const Initializer& weights, Where where)
    : RecurrentBlock("RgLru", in, hidden, 1, where),
      w(m.param(name + ".w", sizes({in, 2 * hidden}, where), weights, where)),
      w_gates(m.param(name + ".w_gates", sizes({hidden, 2 * hidden}, where), weights, where)),
      b_gates(m.param(name + ".b_gates", sizes({2 * hidden}, where), zeros(), where)),
      l(m.param(name + ".l", sizes({hidden}, where), slow_decays, where)),
      w_out(m.param(name + ".w_out", sizes({hidden, hidden}, where), weights, where)) {}

std::vector<BlockState> RgLru::states(int64_t batch) const { return {{"h", {batch, hidden()}}}; }

Value RgLru::next(Value x, std::vector<State>& states) const {
  const auto [u, z] = halves(matmul(x, w));
  const auto [r, i] = halves(matmul(u, w_gates) + b_gates);
  return matmul(rg_lru(r, i, u, l, states[0]) * gelu(z), w_out);
}

MinGru::MinGru(Model& m, const std::string& name, int64_t in, int64_t hidden,
               const Initializer& weights, Where where)
    : RecurrentBlock("MinGru", in, hidden, 1, where),
      w(m.param(name + ".w", sizes({in, 2 * hidden}, where), weights, where)),
      b(m.param(name + ".b", sizes({2 * hidden}, where), zeros(), where)) {}

std::vector<BlockState> MinGru::states(int64_t batch) const { return {{"h", {batch, hidden()}}}; }

Value MinGru::next(Value x, std::vector<State>& states) const {
  const auto [z, candidate] = halves(matmul(x, w) + b);
  return min_gru(z, candidate, states[0]);
}

}  // namespace graphc::core
