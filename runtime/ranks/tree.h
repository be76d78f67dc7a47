// SPDX-License-Identifier: Apache-2.0
// The order in which the values of ranks are summed.
#pragma once

#include <span>

#include "ir/stored.h"

namespace graphc::core {

/// sum[i] = the sum of parts[r][i] over the ranks r, in a tree that depends on their number alone:
/// the largest power of two below that number on the left, the rest on the right. So the tree over
/// 2 n parts, n a power of two, is that over n parts, each the sum of two neighbours. Denormals are
/// flushed, as in compiled steps. `sum` may be one of the parts; otherwise it overlaps none. Values
/// of bf16 are summed in f32, and only the sum is rounded.
void sum_parts(std::span<const float* const> parts, std::span<float> sum);
void sum_parts(std::span<const double* const> parts, std::span<double> sum);
void sum_parts(std::span<const BFloat16* const> parts, std::span<BFloat16> sum);
void sum_parts(std::span<const float* const> parts, std::span<BFloat16> sum);

/// to[i] = from[i], of which there are as many. They do not overlap.
void widen(std::span<const BFloat16> from, float* to);

}  // namespace graphc::core
