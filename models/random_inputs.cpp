// SPDX-License-Identifier: Apache-2.0
#include "models/random_inputs.h"

#include <numeric>

namespace graphc::core {

std::vector<int64_t> numbers(int64_t begin, int64_t end) {
  std::vector<int64_t> result(static_cast<size_t>(end - begin));
  std::iota(result.begin(), result.end(), begin);
  return result;
}

Tensor random_uniform(const Shape& shape, uint64_t seed) {
  Tensor result(Type{DType::f32, shape});
  SplitMix draw(seed);
  for (float& element : result.mutable_data<float>()) element = draw.uniform();
  return result;
}

Tensor random_integers(const Shape& shape, int64_t limit, uint64_t seed) {
  Tensor result(Type{DType::i32, shape});
  SplitMix draw(seed);
  for (int32_t& element : result.mutable_data<int32_t>()) element = int32_t(draw.below(limit));
  return result;
}

}  // namespace graphc::core
