// SPDX-License-Identifier: Apache-2.0
#include "models/random_inputs.h"

namespace graphc {
namespace {

/// SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t operator()() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

 private:
  uint64_t state_;
};

}  // namespace

Tensor random_uniform(const Shape& shape, uint64_t seed) {
  Tensor result(Type{DType::f32, shape});
  SplitMix draw(seed);
  for (float& element : result.mutable_data<float>()) element = float(draw() >> 40) * 0x1p-24f;
  return result;
}

Tensor random_integers(const Shape& shape, int64_t limit, uint64_t seed) {
  Tensor result(Type{DType::i32, shape});
  SplitMix draw(seed);
  for (int32_t& element : result.mutable_data<int32_t>())
    element = int32_t(draw() % uint64_t(limit));
  return result;
}

}  // namespace graphc
