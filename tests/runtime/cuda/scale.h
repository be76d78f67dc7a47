// SPDX-License-Identifier: Apache-2.0
// A text of CUDA for tests: short, and with everything a launch needs.
#pragma once

#include <string>

namespace graphc::core::cuda::testing {

/// A text with one kernel: scale(const float* x, float* y, float factor, int count).
inline const std::string kScale = R"(
extern "C" __global__ void __launch_bounds__(128) scale(const float* __restrict__ x,
                                                        float* __restrict__ y, float factor,
                                                        int count) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) y[i] = x[i] * factor;
}
)";

}  // namespace graphc::core::cuda::testing
