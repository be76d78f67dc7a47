// SPDX-License-Identifier: Apache-2.0
#include "tests/passes/cells.h"

#include "ir/text.h"

namespace graphc::core::testing {
namespace {

// T = 4 steps, B = 3 rows, I = 2 inputs, H = 5 units, P = 3 projected units.
constexpr std::string_view kLstm = R"(
graph @lstm(%x: f32[4,3,2], %h0: f32[3,5], %c0: f32[3,5])
    state (%w: f32[2,20], %u: f32[5,20], %b: f32[20]) {
  %y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0 with %w, %u, %b {
    %z = add(add(matmul(%x.t, %w), matmul(%h, %u)), %b)
    %i, %f, %g, %o = split %z {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.1 = mul(sigmoid(%o), tanh(%c.1))
    next %h = %h.1, %c = %c.1
    emit %h.1
  }
  return %y, %h.e, %c.e
})";

constexpr std::string_view kLastOutput = R"(
graph @last_output(%x: f32[4,3,2]) state (%w: f32[2,20], %u: f32[5,20], %b: f32[20]) {
  %zero = constant {dtype = f32, shape = [3,5], value = 0.}
  %y, %h.e, %c.e = scan {reverse = true} %x.t in %x carry %h = %zero, %c = %zero with %w, %u, %b {
    %z = add(add(matmul(%x.t, %w), matmul(%h, %u)), %b)
    %i, %f, %g, %o = split %z {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.1 = mul(sigmoid(%o), tanh(%c.1))
    next %h = %h.1, %c = %c.1
    emit %h.1
  }
  return slice(%y) {axis = 0, start = 0, limit = 1}
})";

// Four weight matrices each, and the input concatenated with the state, as textbooks write it.
constexpr std::string_view kLstmGates = R"(
graph @lstm_gates(%x: f32[4,3,2], %h0: f32[3,5], %c0: f32[3,5])
    state (%ki: f32[7,5], %kf: f32[7,5], %kg: f32[7,5], %ko: f32[7,5],
           %bi: f32[5], %bf: f32[5], %bg: f32[5], %bo: f32[5]) {
  %y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0
      with %ki, %kf, %kg, %ko, %bi, %bf, %bg, %bo {
    %xh = concat %x.t, %h {axis = 1}
    %i = sigmoid(add(matmul(%xh, %ki), %bi))
    %f = sigmoid(add(matmul(%xh, %kf), %bf))
    %g = tanh(add(matmul(%xh, %kg), %bg))
    %o = sigmoid(add(matmul(%xh, %ko), %bo))
    %c.1 = add(mul(%f, %c), mul(%i, %g))
    %h.1 = mul(%o, tanh(%c.1))
    next %h = %h.1, %c = %c.1
    emit %h.1
  }
  return %y, %c.e
})";

constexpr std::string_view kPeephole = R"(
graph @peephole(%x: f32[4,3,2], %h0: f32[3,5], %c0: f32[3,5])
    state (%w: f32[2,20], %u: f32[5,20], %b: f32[20], %pi: f32[5], %pf: f32[5], %po: f32[5]) {
  %y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0 with %w, %u, %b, %pi, %pf, %po {
    %z = add(add(matmul(%x.t, %w), %b), matmul(%h, %u))
    %i, %f, %g, %o = split %z {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(add(%f, mul(%pf, %c))), %c),
               mul(sigmoid(add(%i, mul(%pi, %c))), tanh(%g)))
    %h.1 = mul(sigmoid(add(%o, mul(%po, %c.1))), tanh(%c.1))
    next %h = %h.1, %c = %c.1
    emit %h.1
  }
  return %y, %h.e, %c.e
})";

constexpr std::string_view kLayerNormLstm = R"(
graph @layer_norm_lstm(%x: f32[4,3,2], %h0: f32[3,5], %c0: f32[3,5])
    state (%w: f32[2,20], %u: f32[5,20], %b: f32[20], %g1: f32[4,5], %g2: f32[4,5],
           %g3: f32[5], %b3: f32[5]) {
  %y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0
      with %w, %u, %b, %g1, %g2, %g3, %b3 {
    %nx = mul(layer_norm(reshape(matmul(%x.t, %w)) {shape = [3,4,5]}), %g1)
    %nh = mul(layer_norm(reshape(matmul(%h, %u)) {shape = [3,4,5]}), %g2)
    %z = add(reshape(add(%nx, %nh)) {shape = [3,20]}, %b)
    %i, %f, %g, %o = split %z {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.1 = mul(sigmoid(%o), tanh(add(mul(layer_norm(%c.1), %g3), %b3)))
    next %h = %h.1, %c = %c.1
    emit %h.1
  }
  return %y, %h.e, %c.e
})";

constexpr std::string_view kProjectedLstm = R"(
graph @projected_lstm(%x: f32[4,3,2], %h0: f32[3,3], %c0: f32[3,5])
    state (%w: f32[2,20], %u: f32[3,20], %b: f32[20], %p: f32[5,3]) {
  %y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0 with %w, %u, %b, %p {
    %z = add(add(matmul(%x.t, %w), matmul(%h, %u)), %b)
    %i, %f, %g, %o = split %z {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.1 = matmul(mul(sigmoid(%o), tanh(%c.1)), %p)
    next %h = %h.1, %c = %c.1
    emit %h.1
  }
  return %y, %c.e
})";

constexpr std::string_view kGru = R"(
graph @gru(%x: f32[4,3,2], %h0: f32[3,5])
    state (%w: f32[2,15], %u: f32[5,15], %b: f32[15], %bn: f32[5]) {
  %y, %h.e = scan %x.t in %x carry %h = %h0 with %w, %u, %b, %bn {
    %xr, %xz, %xn = split(add(matmul(%x.t, %w), %b)) {axis = 1, parts = 3}
    %hr, %hz, %hn = split(matmul(%h, %u)) {axis = 1, parts = 3}
    %r = sigmoid(add(%xr, %hr))
    %z = sigmoid(add(%xz, %hz))
    %n = tanh(add(%xn, mul(%r, add(%hn, %bn))))
    %h.1 = add(mul(sub(1., %z), %n), mul(%z, %h))
    next %h = %h.1
    emit %h.1
  }
  return %y, %h.e
})";

constexpr std::string_view kGruResetBefore = R"(
graph @gru_reset_before(%x: f32[4,3,2], %h0: f32[3,5])
    state (%w: f32[2,15], %ur: f32[5,5], %uz: f32[5,5], %un: f32[5,5], %b: f32[15]) {
  %y, %h.e = scan %x.t in %x carry %h = %h0 with %w, %ur, %uz, %un, %b {
    %xr, %xz, %xn = split(add(matmul(%x.t, %w), %b)) {axis = 1, parts = 3}
    %r = sigmoid(add(%xr, matmul(%h, %ur)))
    %z = sigmoid(add(%xz, matmul(%h, %uz)))
    %n = tanh(add(%xn, matmul(mul(%r, %h), %un)))
    %h.1 = add(mul(sub(1., %z), %n), mul(%z, %h))
    next %h = %h.1
    emit %h.1
  }
  return %y, %h.e
})";

constexpr std::string_view kMaskedRnn = R"(
graph @masked_rnn(%x: f32[4,3,2], %m: bool[4,3,1], %h0: f32[3,5])
    state (%w: f32[2,5], %u: f32[5,5], %b: f32[5]) {
  %y, %h.e = scan %x.t in %x, %m.t in %m carry %h = %h0 with %w, %u, %b {
    %n = tanh(add(add(matmul(select(%m.t, %x.t, 0.), %w), matmul(%h, %u)), %b))
    %h.1 = select(%m.t, %n, %h)
    next %h = %h.1
    emit select(%m.t, %h.1, 0.)
  }
  return %y, %h.e
})";

constexpr std::string_view kTwoLayers = R"(
graph @two_layers(%x: f32[4,3,2], %h0: f32[3,5], %g0: f32[3,6])
    state (%w: f32[2,5], %u: f32[5,5], %v: f32[5,6], %r: f32[6,6]) {
  %y, %h.e, %g.e = scan %x.t in %x carry %h = %h0, %g = %g0 with %w, %u, %v, %r {
    %h.1 = tanh(add(matmul(%x.t, %w), matmul(%h, %u)))
    %g.1 = tanh(add(matmul(%h.1, %v), matmul(%g, %r)))
    next %h = %h.1, %g = %g.1
    emit %g.1
  }
  return %y, %h.e, %g.e
})";

constexpr std::string_view kMogrifier = R"(
graph @mogrifier(%x: f32[4,3,5], %h0: f32[3,5], %c0: f32[3,5])
    state (%w: f32[5,20], %u: f32[5,20], %q: f32[5,5], %r: f32[5,5]) {
  %y, %h.e, %c.e = scan %x.t in %x carry %h = %h0, %c = %c0 with %w, %u, %q, %r {
    %x.1 = mul(mul(2., sigmoid(matmul(%h, %q))), %x.t)
    %h.m = mul(mul(2., sigmoid(matmul(%x.1, %r))), %h)
    %z = add(matmul(%x.1, %w), matmul(%h.m, %u))
    %i, %f, %g, %o = split %z {axis = 1, parts = 4}
    %c.1 = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
    %h.1 = mul(sigmoid(%o), tanh(%c.1))
    next %h = %h.1, %c = %c.1
    emit %h.1
  }
  return %y, %h.e, %c.e
})";

// Tables, a counter, an output product in the body, and emits of carries and of streams.
constexpr std::string_view kDecoder = R"(
graph @decoder(%tokens: i32[4,3], %x: f32[4,3,5], %h0: f32[3,5], %n0: i32[], %s0: f32[])
    state (%table: f32[7,5], %u: f32[5,5], %v: f32[5,7]) {
  %logits, %before, %h.e, %n.e, %sum.e = scan %t in %tokens, %x.t in %x
      carry %h = %h0, %n = %n0, %sum = %s0 with %table, %u, %v {
    %e = gather %table, %t
    %h.1 = tanh(add(add(%e, %x.t), matmul(%h, %u)))
    %out = matmul(%h.1, %v)
    %n.1 = add(%n, 1)
    %sum.1 = add(%sum, sum(mul(%h.1, %x.t)) {axes = [0,1]})
    next %h = %h.1, %n = %n.1, %sum = %sum.1
    emit log_softmax(%out), %h
  }
  return %logits, %before, %h.e, %n.e, %sum.e
})";

// A loop in a loop.
constexpr std::string_view kNested = R"(
graph @nested(%x: f32[4,3,2], %h0: f32[3,5]) state (%w: f32[2,5], %u: f32[5,5]) {
  %y, %h.e = scan %x.t in %x carry %h = %h0 with %w, %u {
    %a = add(matmul(%x.t, %w), %h)
    %r, %k.e = scan {steps = 2} carry %k = %a with %u {
      %k.1 = tanh(matmul(%k, %u))
      next %k = %k.1
      emit mul(%k.1, %k)
    }
    next %h = %k.e
    emit %r
  }
  return %y, %h.e
})";

}  // namespace

const std::vector<Cell>& all_cells() {
  static const std::vector<Cell> cells = {
      {"lstm", kLstm, 1},
      {"last_output", kLastOutput, 1},
      {"lstm_gates", kLstmGates, 1},
      {"peephole", kPeephole, 1},
      {"layer_norm_lstm", kLayerNormLstm, 1},
      {"projected_lstm", kProjectedLstm, 2},
      {"gru", kGru, 1},
      {"gru_reset_before", kGruResetBefore, 2},
      {"masked_rnn", kMaskedRnn, 1},
      {"two_layers", kTwoLayers, 1},
      {"mogrifier", kMogrifier, 4},
      {"decoder", kDecoder, 1},
      {"nested", kNested, 0},
  };
  return cells;
}

GraphPtr parse_cell(const Cell& cell) { return parse_graph(cell.text, cell.name); }

}  // namespace graphc::core::testing
