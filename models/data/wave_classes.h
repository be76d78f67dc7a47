// SPDX-License-Identifier: Apache-2.0
// Sequences of two numbers with a class, the synthetic data of the template yjchoe/TFCudnnLSTM.
#pragma once

#include <span>
#include <vector>

#include "runtime/tensor.h"

namespace graphc::core {

/// x [steps, 2] uniform in [-1, 1); the class is 1 if tanh(mean over t, from 0, of 0.1 x1^2 sin(t)
/// + 0.4 x2^3 / (|x1| + 1), + 0.01 n) > 0, n standard normal.
class WaveClasses {
 public:
  WaveClasses(int64_t count, int64_t steps, uint64_t seed);

  int64_t count() const { return int64_t(classes_.size()); }
  float label(int64_t sequence) const { return classes_[size_t(sequence)]; }
  /// The sequences f32[steps, batch, 2] and their classes f32[batch, 1].
  std::vector<Tensor> batch(std::span<const int64_t> sequences) const;
  /// The share of the more frequent class in these sequences.
  double majority(std::span<const int64_t> sequences) const;

 private:
  int64_t steps_;
  std::vector<float> x_, classes_;  ///< [count, steps, 2] and [count]
};

}  // namespace graphc::core
