// SPDX-License-Identifier: Apache-2.0
// Samples of random bits, the synthetic corpus of W4: only their means can be learned.
#pragma once

#include <span>
#include <vector>

#include "runtime/tensor.h"

namespace graphc::core {

/// x f32[steps, batch, width] and y f32[batch, width] of these samples, zeros and ones. A sample is
/// drawn from the seed and its number, hence the same in every batch.
std::vector<Tensor> random_bits(std::span<const int64_t> samples, int64_t steps, int64_t width,
                                uint64_t seed);

}  // namespace graphc::core
