// SPDX-License-Identifier: Apache-2.0
// W4's network: Keras' LSTM with hard sigmoid gates over a window, and a softmax after its final
// state.
#pragma once

#include "frontend/graphc.h"

namespace graphc::core {

class CharLstmNetwork {
 public:
  /// With `unroll` the graph has a copy of the cell per step instead of a loop.
  CharLstmNetwork(Model& model, int64_t vocabulary, int64_t hidden, bool unroll);

  int64_t vocabulary() const { return vocabulary_; }
  int64_t hidden() const { return hidden_; }

  /// Logits [batch, vocabulary] after windows of characters, integers [steps, batch], or of numbers
  /// [steps, batch, vocabulary]. A character selects a row of the kernel, the product with its
  /// one-hot vector.
  Value logits(Value windows, ScanOptions options = {}) const;
  /// Updates the parameters by RMSprop; returns the gradients of the loss.
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
