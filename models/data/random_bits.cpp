// SPDX-License-Identifier: Apache-2.0
#include "models/data/random_bits.h"

#include "models/random_inputs.h"

namespace graphc::core {

std::vector<Tensor> random_bits(std::span<const int64_t> samples, int64_t steps, int64_t width,
                                uint64_t seed) {
  const int64_t rows = int64_t(samples.size());
  Tensor x(Type{DType::f32, {steps, rows, width}}), y(Type{DType::f32, {rows, width}});
  const std::span<float> xs = x.mutable_data<float>(), ys = y.mutable_data<float>();
  for (int64_t row = 0; row < rows; ++row) {
    SplitMix draw(SplitMix(seed)() + uint64_t(samples[size_t(row)]));
    for (int64_t t = 0; t < steps; ++t) {
      for (int64_t bit = 0; bit < width; ++bit)
        xs[size_t((t * rows + row) * width + bit)] = float(draw.below(2));
    }
    for (int64_t bit = 0; bit < width; ++bit) ys[size_t(row * width + bit)] = float(draw.below(2));
  }
  return {x, y};
}

}  // namespace graphc::core
