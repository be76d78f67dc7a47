// SPDX-License-Identifier: Apache-2.0
#include "models/char_lstm_network.h"

namespace graphc::core {

CharLstmNetwork::CharLstmNetwork(Model& model, int64_t vocabulary, int64_t hidden, bool unroll)
    : model_(model),
      vocabulary_(vocabulary),
      hidden_(hidden),
      unroll_(unroll),
      w_(model.param("lstm.w", {vocabulary, 4 * hidden}, glorot_uniform())),
      u_(model.param("lstm.u", {hidden, 4 * hidden}, orthogonal())),
      b_(model.param("lstm.b", {4 * hidden}, parts({zeros(), constant(1), zeros(), zeros()}))),
      dense_(model, "dense", hidden, vocabulary) {}

/// One step from z = x w [batch, 4 hidden].
void CharLstmNetwork::step(Value z, State& h, State& c) const {
  const auto [i, f, g, o] = split<4>(z + matmul(h, u_) + b_);
  c = hard_sigmoid(f) * c + hard_sigmoid(i) * tanh(g);
  h = hard_sigmoid(o) * tanh(c);
}

Value CharLstmNetwork::logits(Value windows, ScanOptions options) const {
  const bool characters = windows.shape().rank() == 2;
  const Value z = characters ? gather(w_, windows) : matmul(windows, w_);
  State h(filled({z.shape()[1], hidden_}, 0)), c(filled({z.shape()[1], hidden_}, 0));
  if (unroll_ && !options.lengths) {
    for (int64_t t = 0; t < z.shape()[0]; ++t) step(at(z, t), h, c);
  } else {
    scan(z, [&](Value now) { step(now, h, c); }, options);
  }
  return dense_(h);
}

Values CharLstmNetwork::minimize_by_rmsprop(Value loss, double rate) const {
  return minimize(loss, model_.params(), Rmsprop{.rate = rate, .decay = 0.9, .epsilon = 1e-7});
}

}  // namespace graphc::core
