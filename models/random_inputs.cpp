// SPDX-License-Identifier: Apache-2.0
#include "models/random_inputs.h"

#include <numeric>
#include <utility>

namespace graphc::core {

std::vector<int64_t> numbers(int64_t begin, int64_t end) {
  std::vector<int64_t> result(static_cast<size_t>(end - begin));
  std::iota(result.begin(), result.end(), begin);
  return result;
}

std::vector<int64_t> shuffled(int64_t count, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order = numbers(0, count);
  // The seed is drawn from first: consecutive ones must not give orders that resemble each other.
  SplitMix draw(SplitMix(seed)() + uint64_t(epoch));
  for (int64_t i = count - 1; i > 0; --i)
    std::swap(order[size_t(i)], order[size_t(draw.below(i + 1))]);
  return order;
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
