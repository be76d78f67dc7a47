// SPDX-License-Identifier: Apache-2.0
// W4's network: Keras' LSTM, whose gates are hard sigmoids, over a window, and a softmax behind its
// last state.
#pragma once

#include "frontend/graphc.h"

namespace graphc::core {

class CharLstmNetwork {
 public:
  /// With `unroll` the graph has a copy of the cell for each step of a window, without one loop.
  CharLstmNetwork(Model& model, int64_t vocabulary, int64_t hidden, bool unroll);

  int64_t vocabulary() const { return vocabulary_; }
  int64_t hidden() const { return hidden_; }

  /// Logits [batch, vocabulary] behind windows of characters, integers [steps, batch], or of
  /// numbers [steps, batch, vocabulary]. A character is its row of the kernel: what the product
  /// with its one-hot vector would give.
  Value logits(Value windows, ScanOptions options = {}) const;
  /// The gradients of a loss, with which RMSprop has updated the parameters.
  Values minimize_by_rmsprop(Value loss, double rate) const;

 private:
  void step(Value z, State& h, State& c) const;

  Model& model_;
  int64_t vocabulary_, hidden_;
  bool unroll_;
  Param w_, u_, b_;
  Linear dense_;
};

}  // namespace graphc::core
