// SPDX-License-Identifier: Apache-2.0
// Runs a kernel as a grid of threads, and finds what a GPU would only do wrong now and then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/emulator/module.h"

namespace graphc::core::cuda_emulator {

struct Launch {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  size_t dynamic_shared = 0;   ///< bytes
  bool cooperative = false;    ///< all blocks are resident at a time
  unsigned cluster = 1;        ///< blocks of a cluster, beside each other along x
  unsigned absent_blocks = 0;  ///< so many never begin, and the others may wait for them
  /// A pointer to the value of each parameter, as cuLaunchKernel takes them.
  const void* const* parameters = nullptr;
  uint64_t seed = 0;  ///< of the order in which blocks, warps and threads take their turns
  /// A cooperative launch of more blocks than these is refused.
  unsigned most_resident_blocks = 1056;
  /// Of shared memory, static and dynamic together, in bytes.
  size_t most_shared = 232448;
  /// Instructions of warps after which the launch counts as endless.
  uint64_t most_instructions = uint64_t(1) << 34;
};

/// Runs all blocks to their end. Throws ErrorKind::internal at the first defect, as "KERNEL, line
/// 12, block (0,0,0) thread (3,0,0): read of 4 bytes past the end of 'arena'"; what was stored
/// until then remains. README.md lists what counts as a defect.
void run(const Kernel& kernel, const Launch& launch, DeviceMemory& memory);

}  // namespace graphc::core::cuda_emulator
