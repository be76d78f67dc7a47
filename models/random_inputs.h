// SPDX-License-Identifier: Apache-2.0
// Random inputs generated on the host, the same on every machine.
#pragma once

#include <vector>

#include "frontend/buckets.h"
#include "frontend/split_mix.h"
#include "runtime/tensor.h"

namespace graphc::core {

/// begin, begin + 1, ... below `end`.
std::vector<int64_t> numbers(int64_t begin, int64_t end);

/// f32, uniform in [0, 1), in steps of 2^-24.
Tensor random_uniform(const Shape& shape, uint64_t seed);
/// i32, uniform in [0, limit).
Tensor random_integers(const Shape& shape, int64_t limit, uint64_t seed);

}  // namespace graphc::core
