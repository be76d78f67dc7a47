// SPDX-License-Identifier: Apache-2.0
// Barriers between the blocks of a loop's kernel.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace graphc::core::cuda::internal {

/// The device function `block_barrier` as text. The first thread of each block counts the block's
/// arrival in a word of memory and polls it, between fences, so that writes by any thread before
/// the barrier are visible to all threads after it (PTX ISA, "membar/fence": acquire and release
/// suffice where each block only waits for the others' counts, and take less time than the
/// sequential consistency of __threadfence()).
constexpr std::string_view barrier_text() {
  return R"(// Blocks wait for each other; what one wrote before, all read after. False for all
// threads when some do not come: `stuck` says in which loop then, and every block leaves.
__device__ __forceinline__ bool block_barrier(unsigned* arrived, unsigned wanted, unsigned* stuck,
                                     unsigned loop_number, unsigned patience) {
  int in_vain = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.acq_rel.gpu;" : : : "memory");
    atomicAdd(arrived, 1u);
    unsigned polls = 0u;
    while (in_vain == 0 && atomicAdd(arrived, 0u) < wanted) {
      polls = polls + 1u;
      if (polls == patience) atomicMax(stuck, loop_number);
      if (polls % 256u == 0u || polls == patience) in_vain = atomicAdd(stuck, 0u) != 0u ? 1 : 0;
    }
    asm volatile("fence.acq_rel.gpu;" : : : "memory");
  }
  return __syncthreads_or(in_vain) == 0;
}

)";
}

/// The same for the blocks of a cluster, all of which the hardware runs at the same time. The
/// cluster's barrier also orders their memory accesses (PTX ISA, "barrier.cluster").
constexpr std::string_view cluster_barrier_text() {
  return R"(// Blocks of a cluster wait for each other; what one wrote before, all read after.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;" : : : "memory");
  asm volatile("barrier.cluster.wait.acquire;" : : : "memory");
}

)";
}

/// The device function `store_to_all_N` as text: stores a value at the same address of the shared
/// memory of each of the N blocks of a cluster (PTX ISA, "mapa").
inline std::string store_to_all_text(int64_t blocks, std::string_view type) {
  return fmt::format(R"(// Writes into the shared memory of all blocks of the cluster.
__device__ __forceinline__ void store_to_all_{0}({1}* at, {1} value) {{
  #pragma unroll
  for (unsigned rank = 0u; rank < {0}u; ++rank) {{
    {1}* there = at;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(at), "r"(rank));
    *there = value;
  }}
}}

)",
                     blocks, type);
}

}  // namespace graphc::core::cuda::internal
