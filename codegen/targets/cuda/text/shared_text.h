// SPDX-License-Identifier: Apache-2.0
// Device functions for shared memory, as text.
#pragma once

#include <string_view>

namespace graphc::core::cuda::internal {

/// `shared_address`, which converts a pointer.
constexpr std::string_view kSharedAddress =
    R"(// The address of shared memory, as instructions for it take it.
__device__ __forceinline__ unsigned shared_address(const float* at) {
  unsigned long long address;
  asm volatile("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(at));
  return (unsigned)address;
}

)";

}  // namespace graphc::core::cuda::internal
