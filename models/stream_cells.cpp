// SPDX-License-Identifier: Apache-2.0
#include "models/stream_cells.h"

#include <cmath>

#include "frontend/cell_steps.h"
#include "frontend/graphc.h"

namespace graphc::core {
namespace {

using States = std::vector<State>;

/// The limit of random keys: |k| <= 1 for a key of this width.
double unit_limit(int64_t width) { return 1 / std::sqrt(double(width)); }

StreamCell gated_delta_cell(Model&, const CellExtents& e) {
  const int64_t rows = e.batch * e.heads;
  const double limit = unit_limit(e.key);
  return {
      .streams = {{"q", {rows, e.key}},
                  {"k", {rows, e.key}, -limit, limit},
                  {"v", {rows, e.value}},
                  {"g", {rows}, 0, 0.2},
                  {"beta", {rows}, 0, 1}},
      .fixed = {},
      .states = {{"s", {rows, e.key, e.value}}},
      .step = [](const Values& x, const Values&,
                 States& states) { return gated_delta(x[0], x[1], x[2], x[3], x[4], states[0]); },
      .flop = double(rows) * 7 * double(e.key * e.value)};
}

StreamCell selective_scan_cell(Model& m, const CellExtents& e) {
  const Param a = m.param("a", {e.hidden, e.state}, uniform(1));
  const Param skip = m.param("skip", {e.hidden}, constant(1));
  return {.streams = {{"delta", {e.batch, e.hidden}},
                      {"u", {e.batch, e.hidden}},
                      {"b", {e.batch, e.state}},
                      {"c", {e.batch, e.state}}},
          .fixed = {},
          .states = {{"h", {e.batch, e.hidden, e.state}}},
          .step =
              [=](const Values& x, const Values&, States& states) {
                return selective_scan(x[0], x[1], x[2], x[3], a, skip, states[0]);
              },
          .flop = double(e.batch) * 6 * double(e.hidden * e.state)};
}

StreamCell mlstm_cell(Model&, const CellExtents& e) {
  const int64_t rows = e.batch * e.heads;
  return {.streams = {{"q", {rows, e.key}},
                      {"k", {rows, e.key}},
                      {"v", {rows, e.value}},
                      {"i", {rows}},
                      {"f", {rows}, 1, 5}},
          .fixed = {},
          .states = {{"c", {rows, e.key, e.value}}, {"n", {rows, e.key}}, {"m", {rows}, -HUGE_VAL}},
          .step =
              [](const Values& x, const Values&, States& states) {
                return mlstm(x[0], x[1], x[2], x[3], x[4], states[0], states[1], states[2]);
              },
          .flop = double(rows) * 5 * double(e.key * (e.value + 1))};
}

StreamCell slstm_cell(Model& m, const CellExtents& e) {
  if (e.hidden % e.heads != 0) {
    throw Error(
        ErrorKind::usage, {},
        fmt::format("slstm: wanted heads that divide the {} units: found {}", e.hidden, e.heads));
  }
  const int64_t width = e.hidden / e.heads;
  const Param u = m.param("u", {e.heads, width, 4 * width}, uniform(unit_limit(width)));
  const Shape state{e.batch, e.heads, width};
  return {.streams = {{"x", {e.batch, e.heads, 4 * width}}},
          .fixed = {},
          .states = {{"h", state}, {"c", state}, {"n", state}, {"m", state, -HUGE_VAL}},
          .step =
              [=](const Values& x, const Values&, States& states) {
                const Value z = x[0] + einsum("bnd,nde->bne", {states[0], u});
                return slstm(z, states[0], states[1], states[2], states[3]);
              },
          .flop = double(e.batch * e.heads) * 2 * double(width * 4 * width)};
}

StreamCell rwkv7_cell(Model&, const CellExtents& e) {
  const int64_t rows = e.batch * e.heads;
  const double limit = unit_limit(e.key);
  return {
      .streams = {{"r", {rows, e.key}},
                  {"w", {rows, e.key}, -0.6, 0},
                  {"k", {rows, e.key}},
                  {"v", {rows, e.value}},
                  {"a", {rows, e.key}, -limit, limit},
                  {"b", {rows, e.key}, -limit, limit}},
      .fixed = {},
      .states = {{"s", {rows, e.value, e.key}}},
      .step = [](const Values& x, const Values&,
                 States& states) { return rwkv7(x[0], x[1], x[2], x[3], x[4], x[5], states[0]); },
      .flop = double(rows) * 9 * double(e.key * e.value)};
}

StreamCell rg_lru_cell(Model& m, const CellExtents& e) {
  const Param l = m.param("l", {e.hidden}, uniform(4));
  const Shape state{e.batch, e.hidden};
  return {.streams = {{"r", state}, {"i", state}, {"x", state}},
          .fixed = {},
          .states = {{"h", state}},
          .step = [=](const Values& x, const Values&,
                      States& states) { return rg_lru(x[0], x[1], x[2], l, states[0]); },
          .flop = double(e.batch) * 8 * double(e.hidden)};
}

StreamCell min_gru_cell(Model&, const CellExtents& e) {
  const Shape state{e.batch, e.hidden};
  return {.streams = {{"z", state}, {"x", state}},
          .fixed = {},
          .states = {{"h", state}},
          .step = [](const Values& x, const Values&,
                     States& states) { return min_gru(x[0], x[1], states[0]); },
          .flop = double(e.batch) * 4 * double(e.hidden)};
}

/// A GRU that reads, at each step, a mean of the memory weighted by how well its keys match the
/// state (Bahdanau, Cho, Bengio 2014, arXiv 1409.0473). x is the input times its weights.
///   e_s = v' tanh(h w_h + keys_s);  ctx = sum of softmax(e)_s memory_s
///   r, z, n = x + ctx w + b;  then the GRU's step with u
StreamCell attention_decoder_cell(Model& m, const CellExtents& e) {
  const int64_t hidden = e.hidden;
  const Param w_h = m.param("w_h", {hidden, hidden}, glorot_uniform());
  const Param v = m.param("v", {hidden}, uniform(0.1));
  const Param w = m.param("w", {hidden, 3 * hidden}, glorot_uniform());
  const Param u = m.param("u", {hidden, 3 * hidden}, glorot_uniform());
  const Param b = m.param("b", {3 * hidden}, zeros());
  const Shape rows{e.batch, e.memory, hidden};
  return {.streams = {{"x", {e.batch, 3 * hidden}}},
          .fixed = {{"keys", rows}, {"memory", rows}},
          .states = {{"h", {e.batch, hidden}}},
          .step =
              [=](const Values& x, const Values& fixed, States& states) {
                State& h = states[0];
                const Value query = reshape(matmul(h, w_h), {e.batch, 1, hidden});
                const Value weights = softmax(sum(v * tanh(query + fixed[0]), -1));
                const Value context = sum(reshape(weights, {e.batch, e.memory, 1}) * fixed[1], 1);
                const auto [xr, xz, xn] = split<3>(x[0] + matmul(context, w) + b);
                const auto [hr, hz, hn] = split<3>(matmul(h, u));
                const Value r = sigmoid(xr + hr), z = sigmoid(xz + hz);
                h = (1 - z) * tanh(xn + r * hn) + z * h;
                return Value(h);
              },
          .flop = double(e.batch) * (14 * double(hidden * hidden) + 5 * double(e.memory * hidden))};
}

constexpr StreamCellRecord kStreamCells[] = {
    {"gated-delta", "heads key value", gated_delta_cell},
    {"selective-scan", "hidden state", selective_scan_cell},
    {"mlstm", "heads key value", mlstm_cell},
    {"slstm", "heads hidden", slstm_cell},
    {"rwkv7", "heads key value", rwkv7_cell},
    {"rg-lru", "hidden", rg_lru_cell},
    {"min-gru", "hidden", min_gru_cell},
    {"attention-decoder", "hidden memory", attention_decoder_cell},
};

}  // namespace

std::span<const StreamCellRecord> all_stream_cells() { return kStreamCells; }

std::vector<State> first_states(const StreamCell& cell) {
  std::vector<State> states;
  for (const BlockState& state : cell.states)
    states.emplace_back(filled(state.shape, state.start), state.name);
  return states;
}

}  // namespace graphc::core
