// SPDX-License-Identifier: Apache-2.0
// The records of recurrent layers over a whole sequence, as vendor libraries provide them. A loop
// that computes the same is recognised by its body (passes/outline.cpp). The body is also their
// definition, through which they are differentiated.
//
// The gradients of each layer are a composite as well, so that a library call for them has a
// meaning (Op::gradients). They are textbook backpropagation through time; they take y as an
// operand but recompute gates and cells.
//
// x is [steps, batch, inputs]; the weights w [inputs, gates * units] and u [units, gates * units]
// multiply from the right (like Keras' kernels; the transposes of PyTorch's); biases are vectors.
#include "ir/composite.h"
#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

Type floats(std::initializer_list<int64_t> extents) { return {DType::f32, extents}; }

/// Two samples with `gates` gates, one per direction; all extents differ.
Samples samples_of(int64_t gates, bool cell_state, bool second_bias) {
  Samples samples;
  for (const bool reverse : {false, true}) {
    const int64_t steps = reverse ? 2 : 4, batch = reverse ? 5 : 3;
    const int64_t inputs = reverse ? 3 : 2, units = reverse ? 2 : 5;
    Sample sample;
    sample.operands = {floats({steps, batch, inputs}), floats({batch, units})};
    if (cell_state) sample.operands.push_back(floats({batch, units}));
    sample.operands.push_back(floats({inputs, gates * units}));
    sample.operands.push_back(floats({units, gates * units}));
    sample.operands.push_back(floats({gates * units}));
    if (second_bias) sample.operands.push_back(floats({units}));
    if (reverse) sample.attributes.set("reverse", true);
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// One sample of the gradients: the operands of the layer, y, and the cotangents of y and the final
/// states.
Samples samples_of_gradients(int64_t gates, bool cell_state, bool second_bias) {
  Sample sample = samples_of(gates, cell_state, second_bias)[0];
  const Shape x = sample.operands[0].shape, h = sample.operands[1].shape;
  const Type y = floats({x[0], h[0], h[1]}), last = floats({h[0], h[1]});
  sample.operands.insert(sample.operands.end(), {y, y, last});
  if (cell_state) sample.operands.push_back(last);
  return {sample};
}

}  // namespace

constinit const Op ops::lstm{
    .name = "lstm",
    .doc =
        "An LSTM over x [steps, batch, inputs] from h and c [batch, units], with w, u and a bias "
        "whose gates are packed i, f, g, o (as in PyTorch and Keras): every h, the last h, the "
        "last c. {reverse} goes from the last step to the first.",
    .infer = infer_by_body,
    .body = R"(graph (%x, %h0, %c0, %w, %u, %b) {
      %y, %h.end, %c.end = scan {reverse = $reverse:false} %x.t in %x carry %h = %h0, %c = %c0
          with %w, %u, %b {
        %z = add(add(matmul(%x.t, %w), %b), matmul(%h, %u))
        %i, %f, %g, %o = split %z {axis = 1, parts = 4}
        %c.next = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
        %h.next = mul(sigmoid(%o), tanh(%c.next))
        next %h = %h.next, %c = %c.next
        emit %h.next
      }
      return %y, %h.end, %c.end
    })",
    .gradients = &ops::lstm_gradients,
    .samples = [] { return samples_of(4, true, false); },
};

constinit const Op ops::lstm_gradients{
    .name = "lstm_gradients",
    .doc =
        "The cotangents of x, h, c, w, u and the bias of `lstm`, going forward, from these, its y "
        "(every h), and the cotangents of y, of the last h and of the last c.",
    .infer = infer_by_body,
    .body = R"(graph (%x, %h0, %c0, %w, %u, %b, %y, %dy, %dh.end, %dc.end) {
      %zero.w = constant {dtype = $w.dtype, shape = $w.shape, value = 0.}
      %zero.u = constant {dtype = $u.dtype, shape = $u.shape, value = 0.}
      %zero.b = constant {dtype = $b.dtype, shape = $b.shape, value = 0.}
      %hs, %cs, %is, %fs, %gs, %os, %ts, %h.last, %c.last = scan %x.t in %x, %y.t in %y
          carry %h = %h0, %c = %c0 with %w, %u, %b {
        %z = add(add(matmul(%x.t, %w), %b), matmul(%h, %u))
        %z.i, %z.f, %z.g, %z.o = split %z {axis = 1, parts = 4}
        %i = sigmoid(%z.i)
        %f = sigmoid(%z.f)
        %g = tanh(%z.g)
        %o = sigmoid(%z.o)
        %c.next = add(mul(%f, %c), mul(%i, %g))
        %t = tanh(%c.next)
        next %h = %y.t, %c = %c.next
        emit %h, %c, %i, %f, %g, %o, %t
      }
      %dx, %dh.0, %dc.0, %dw.0, %du.0, %db.0 = scan {reverse = true} %x.t in %x, %h in %hs,
          %c in %cs, %i in %is, %f in %fs, %g in %gs, %o in %os, %t in %ts, %dy.t in %dy
          carry %dh = %dh.end, %dc = %dc.end, %dw = %zero.w, %du = %zero.u, %db = %zero.b
          with %w, %u {
        %dh.t = add(%dh, %dy.t)
        %dc.t = add(%dc, mul(mul(%dh.t, %o), sub(1., square(%t))))
        %dz.i = mul(mul(%dc.t, %g), mul(%i, sub(1., %i)))
        %dz.f = mul(mul(%dc.t, %c), mul(%f, sub(1., %f)))
        %dz.g = mul(mul(%dc.t, %i), sub(1., square(%g)))
        %dz.o = mul(mul(%dh.t, %t), mul(%o, sub(1., %o)))
        %dz = concat(%dz.i, %dz.f, %dz.g, %dz.o) {axis = 1}
        next %dh = matmul(%dz, %u) {transpose_b = true}, %dc = mul(%dc.t, %f),
             %dw = add(%dw, matmul(%x.t, %dz) {transpose_a = true}),
             %du = add(%du, matmul(%h, %dz) {transpose_a = true}),
             %db = add(%db, sum(%dz) {axes = [0]})
        emit matmul(%dz, %w) {transpose_b = true}
      }
      return %dx, %dh.0, %dc.0, %dw.0, %du.0, %db.0
    })",
    .samples = [] { return samples_of_gradients(4, true, false); },
};

constinit const Op ops::gru{
    .name = "gru",
    .doc =
        "A GRU over x [steps, batch, inputs] from h [batch, units], the reset behind the product "
        "(PyTorch, cuDNN, Keras' reset_after), with w, u, a bias whose gates are packed r, z, n "
        "(as in PyTorch) and a second bias of n: every h, the last h. {reverse} goes from the last "
        "step to the first.",
    .infer = infer_by_body,
    .body = R"(graph (%x, %h0, %w, %u, %b, %b_n) {
      %y, %h.end = scan {reverse = $reverse:false} %x.t in %x carry %h = %h0
          with %w, %u, %b, %b_n {
        %x.r, %x.z, %x.n = split(add(matmul(%x.t, %w), %b)) {axis = 1, parts = 3}
        %h.r, %h.z, %h.n = split(matmul(%h, %u)) {axis = 1, parts = 3}
        %r = sigmoid(add(%x.r, %h.r))
        %z = sigmoid(add(%x.z, %h.z))
        %n = tanh(add(%x.n, mul(%r, add(%h.n, %b_n))))
        %h.next = add(mul(sub(1., %z), %n), mul(%z, %h))
        next %h = %h.next
        emit %h.next
      }
      return %y, %h.end
    })",
    .gradients = &ops::gru_gradients,
    .samples = [] { return samples_of(3, false, true); },
};

constinit const Op ops::gru_gradients{
    .name = "gru_gradients",
    .doc =
        "The cotangents of x, h, w, u and both biases of `gru`, going forward, from these, its y "
        "(every h), and the cotangents of y and of the last h.",
    .infer = infer_by_body,
    .body = R"(graph (%x, %h0, %w, %u, %b, %b_n, %y, %dy, %dh.end) {
      %zero.w = constant {dtype = $w.dtype, shape = $w.shape, value = 0.}
      %zero.u = constant {dtype = $u.dtype, shape = $u.shape, value = 0.}
      %zero.b = constant {dtype = $b.dtype, shape = $b.shape, value = 0.}
      %zero.b_n = constant {dtype = $b_n.dtype, shape = $b_n.shape, value = 0.}
      %hs, %h.last = scan %y.t in %y carry %h = %h0 {
        next %h = %y.t
        emit %h
      }
      %dx, %dh.0, %dw.0, %du.0, %db.0, %db_n.0 = scan {reverse = true} %x.t in %x, %h in %hs,
          %dy.t in %dy
          carry %dh = %dh.end, %dw = %zero.w, %du = %zero.u, %db = %zero.b, %db_n = %zero.b_n
          with %w, %u, %b, %b_n {
        %x.r, %x.z, %x.n = split(add(matmul(%x.t, %w), %b)) {axis = 1, parts = 3}
        %h.r, %h.z, %h.n = split(matmul(%h, %u)) {axis = 1, parts = 3}
        %r = sigmoid(add(%x.r, %h.r))
        %z = sigmoid(add(%x.z, %h.z))
        %m = add(%h.n, %b_n)
        %n = tanh(add(%x.n, mul(%r, %m)))
        %dh.t = add(%dh, %dy.t)
        %d.n = mul(mul(%dh.t, sub(1., %z)), sub(1., square(%n)))
        %d.z = mul(mul(%dh.t, sub(%h, %n)), mul(%z, sub(1., %z)))
        %d.r = mul(mul(%d.n, %m), mul(%r, sub(1., %r)))
        %d.m = mul(%d.n, %r)
        %d.x = concat(%d.r, %d.z, %d.n) {axis = 1}
        %d.h = concat(%d.r, %d.z, %d.m) {axis = 1}
        next %dh = add(mul(%dh.t, %z), matmul(%d.h, %u) {transpose_b = true}),
             %dw = add(%dw, matmul(%x.t, %d.x) {transpose_a = true}),
             %du = add(%du, matmul(%h, %d.h) {transpose_a = true}),
             %db = add(%db, sum(%d.x) {axes = [0]}),
             %db_n = add(%db_n, sum(%d.m) {axes = [0]})
        emit matmul(%d.x, %w) {transpose_b = true}
      }
      return %dx, %dh.0, %dw.0, %du.0, %db.0, %db_n.0
    })",
    .samples = [] { return samples_of_gradients(3, false, true); },
};

constinit const Op ops::rnn{
    .name = "rnn",
    .doc =
        "tanh(x w + b + h u) over x [steps, batch, inputs] from h [batch, units]: every h, the "
        "last h. {reverse} goes from the last step to the first.",
    .infer = infer_by_body,
    .body = R"(graph (%x, %h0, %w, %u, %b) {
      %y, %h.end = scan {reverse = $reverse:false} %x.t in %x carry %h = %h0 with %w, %u, %b {
        %h.next = tanh(add(add(matmul(%x.t, %w), %b), matmul(%h, %u)))
        next %h = %h.next
        emit %h.next
      }
      return %y, %h.end
    })",
    .gradients = &ops::rnn_gradients,
    .samples = [] { return samples_of(1, false, false); },
};

constinit const Op ops::rnn_gradients{
    .name = "rnn_gradients",
    .doc =
        "The cotangents of x, h, w, u and the bias of `rnn`, going forward, from these, its y "
        "(every h), and the cotangents of y and of the last h.",
    .infer = infer_by_body,
    .body = R"(graph (%x, %h0, %w, %u, %b, %y, %dy, %dh.end) {
      %zero.w = constant {dtype = $w.dtype, shape = $w.shape, value = 0.}
      %zero.u = constant {dtype = $u.dtype, shape = $u.shape, value = 0.}
      %zero.b = constant {dtype = $b.dtype, shape = $b.shape, value = 0.}
      %hs, %h.last = scan %y.t in %y carry %h = %h0 {
        next %h = %y.t
        emit %h
      }
      %dx, %dh.0, %dw.0, %du.0, %db.0 = scan {reverse = true} %x.t in %x, %h in %hs,
          %dy.t in %dy
          carry %dh = %dh.end, %dw = %zero.w, %du = %zero.u, %db = %zero.b
          with %w, %u, %b {
        %n = tanh(add(add(matmul(%x.t, %w), %b), matmul(%h, %u)))
        %dz = mul(add(%dh, %dy.t), sub(1., square(%n)))
        next %dh = matmul(%dz, %u) {transpose_b = true},
             %dw = add(%dw, matmul(%x.t, %dz) {transpose_a = true}),
             %du = add(%du, matmul(%h, %dz) {transpose_a = true}),
             %db = add(%db, sum(%dz) {axes = [0]})
        emit matmul(%dz, %w) {transpose_b = true}
      }
      return %dx, %dh.0, %dw.0, %du.0, %db.0
    })",
    .samples = [] { return samples_of_gradients(1, false, false); },
};

}  // namespace graphc::core
