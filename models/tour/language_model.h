// SPDX-License-Identifier: Apache-2.0
// A language model of the tour: an LSTM over letters, as equations.
#pragma once

#include "frontend/graphc.h"

using namespace graphc;

struct LanguageModel {
  Embedding letters;
  Param w, u, b;
  Linear guess;
  int64_t hidden;

  LanguageModel(Model& m, int64_t alphabet, int64_t units)
      : letters(m, "letters", alphabet, units),
        w(m.param("w", {units, 4 * units}, glorot_uniform())),
        u(m.param("u", {units, 4 * units}, glorot_uniform())),
        b(m.param("b", {4 * units}, zeros())),
        guess(m, "guess", units, alphabet),
        hidden(units) {}

  /// text [steps, batch] of i32 to logits of the next letter, [steps, batch, alphabet]; leaves h
  /// and c [batch, hidden] after the last step.
  Value operator()(Value text, State& h, State& c) const {
    Value y = scan(letters(text), [&](Value x) {
      auto [i, f, g, o] = split<4>(matmul(x, w) + b + matmul(h, u));
      c = sigmoid(f) * c + sigmoid(i) * tanh(g);
      h = sigmoid(o) * tanh(c);
      return h;
    });
    return guess(y);
  }

  /// One training step on windows of text and the letters that follow; returns the loss.
  Value train(const Params& params, Inputs& in) const {
    Value text = in("text", i32, {"steps", "batch"}), after = in("after", i32, {"steps", "batch"});
    State h(filled({in.extent("batch"), hidden}, 0)), c(filled({in.extent("batch"), hidden}, 0));
    Value loss = mean(cross_entropy((*this)(text, h, c), after));
    minimize(loss, params, Adam{.rate = 0.01});
    return loss;
  }

  /// The likeliest next letter; h and c persist between calls.
  Value next(Inputs& in) const {
    Value letter = in("letter", i32, {1, 1});
    State h = in.state("h", {1, hidden}), c = in.state("c", {1, hidden});
    return argmax((*this)(letter, h, c), 2);
  }
};
