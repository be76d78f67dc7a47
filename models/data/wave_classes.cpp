// SPDX-License-Identifier: Apache-2.0
#include "models/data/wave_classes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/random_inputs.h"

namespace graphc::core {
namespace {

/// Standard normal (Box and Muller 1958).
double standard_normal(SplitMix& draw) {
  const double radius = 1 - double(draw.uniform()), angle = double(draw.uniform());
  return std::sqrt(-2 * std::log(radius)) * std::cos(2 * std::numbers::pi * angle);
}

}  // namespace

WaveClasses::WaveClasses(int64_t count, int64_t steps, uint64_t seed) : steps_(steps) {
  SplitMix draw(seed);
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t t = 0; t < steps; ++t) {
      const float x1 = 2 * draw.uniform() - 1, x2 = 2 * draw.uniform() - 1;
      const double a = x1, b = x2;
      sum += 0.1 * a * a * std::sin(double(t)) + 0.4 * b * b * b / (std::abs(a) + 1);
      x_.insert(x_.end(), {x1, x2});
    }
    const double wave = std::tanh(sum / double(steps) + 0.01 * standard_normal(draw));
    classes_.push_back(wave > 0 ? 1.0f : 0.0f);
  }
}

std::vector<Tensor> WaveClasses::batch(std::span<const int64_t> sequences) const {
  const size_t batch = sequences.size(), steps = size_t(steps_);
  Tensor x(Type{DType::f32, {steps_, int64_t(batch), 2}});
  Tensor y(Type{DType::f32, {int64_t(batch), 1}});
  const std::span<float> xs = x.mutable_data<float>(), ys = y.mutable_data<float>();
  for (size_t row = 0; row < batch; ++row) {
    const auto sequence = size_t(sequences[row]);
    for (size_t t = 0; t < steps; ++t) {
      std::copy_n(x_.begin() + long((sequence * steps + t) * 2), 2,
                  xs.begin() + long((t * batch + row) * 2));
    }
    ys[row] = classes_[sequence];
  }
  return {x, y};
}

double WaveClasses::majority(std::span<const int64_t> sequences) const {
  double ones = 0;
  for (const int64_t sequence : sequences) ones += double(label(sequence));
  const double share = ones / double(sequences.size());
  return std::max(share, 1 - share);
}

}  // namespace graphc::core
