// SPDX-License-Identifier: Apache-2.0
// Samples of random bits, the synthetic corpus of W4: nothing can be learned of them but their
// means.
#pragma once

#include <span>
#include <vector>

#include "runtime/tensor.h"

namespace graphc::core {

/// x f32[steps, batch, width] and y f32[batch, width] of these samples, of zeros and ones. A sample
/// is the same in every batch: it is drawn from the seed and its number.
std::vector<Tensor> random_bits(std::span<const int64_t> samples, int64_t steps, int64_t width,
                                uint64_t seed);

}  // namespace graphc::core
