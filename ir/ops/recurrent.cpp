// SPDX-License-Identifier: Apache-2.0
// The records of recurrent layers over a whole sequence. They are what a vendor's library has; a
// loop that computes the same is recognised by its body (passes/outline.cpp). Their meaning is that
// body, so they need nothing else and are differentiated through it.
//
// x is [steps, batch, inputs], the weights w [inputs, gates * units] and u [units, gates * units]
// multiply from the right (Keras' kernels; PyTorch's transposed), biases are vectors.
#include "ir/composite.h"
#include "ir/ops/infer.h"

namespace graphc {
namespace {

Type floats(std::initializer_list<int64_t> extents) { return {DType::f32, extents}; }

/// Two samples of `gates` gates, in both directions; all extents differ.
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
    .samples = [] { return samples_of(4, true, false); },
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
    .samples = [] { return samples_of(3, false, true); },
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
    .samples = [] { return samples_of(1, false, false); },
};

}  // namespace graphc
