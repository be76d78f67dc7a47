// SPDX-License-Identifier: Apache-2.0
// Recurrent layers as cuDNN's documentation defines them (cudnnRNNMode_t), in f64: an
// implementation of its own, with which generated kernels and the ops' bodies have to agree.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/cuda/cudnn_functions.h"

namespace graphc::core::cuda_mock {

/// Extents of a layer, and where things lie in its weights and its reserve, in floats.
struct RecurrentForm {
  cuda::cudnnRNNMode_t cell = cuda::CUDNN_LSTM;
  size_t steps = 0, batch = 0, inputs = 0, units = 0;

  size_t gates() const;
  size_t matrix(size_t linear) const;  ///< of cudnnGetRNNWeightParams
  size_t bias(size_t linear) const;
  size_t weights() const { return bias(2 * gates()); }
  /// Of a row of a step the forward pass leaves gates, the product behind a reset and the cell; the
  /// backward pass adds the derivatives by both products.
  size_t row() const { return (3 * gates() + 2) * units; }
  size_t reserve() const { return kHead + steps * batch * row(); }
  /// What reserve begins with: whether the forward and the backward pass were there.
  static constexpr size_t kHead = 2;
};

/// Memory of a layer; null where nothing is given or wanted.
struct RecurrentData {
  const float *x = nullptr, *h = nullptr, *c = nullptr, *weights = nullptr;
  float *y = nullptr, *last_h = nullptr, *last_c = nullptr, *reserve = nullptr;
};
void recurrent_forward(const RecurrentForm& form, const RecurrentData& data);

struct RecurrentCotangents {
  const float *y = nullptr, *dy = nullptr, *h = nullptr, *c = nullptr, *weights = nullptr;
  const float *last_dh = nullptr, *last_dc = nullptr;
  float *dx = nullptr, *dh = nullptr, *dc = nullptr, *reserve = nullptr;
};
void recurrent_backward_data(const RecurrentForm& form, const RecurrentCotangents& data);

/// Adds to `dweights`; after recurrent_backward_data().
void recurrent_backward_weights(const RecurrentForm& form, const float* x, const float* h,
                                const float* y, const float* reserve, float* dweights);

}  // namespace graphc::core::cuda_mock
