// SPDX-License-Identifier: Apache-2.0
// A loop as one kernel: one launch runs all steps, and its blocks wait for each other between the
// nests of a step instead of ending. The host launches nothing in between, and neither compile time
// nor the number of launches depends on the number of steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/step/position.h"
#include "codegen/targets/cuda/loops/loop_placement.h"
#include "codegen/targets/cuda/text/row_kernels.h"

namespace graphc::core::cuda {

struct LoopKernel {
  KernelText kernel;
  LoopPlacement placement;
  std::string note;      ///< the placement as text
  unsigned threads = 1;  ///< of a block
  unsigned blocks = 1;   ///< streamed: the maximum that have work; else the exact number
  std::vector<LaunchValue> arguments;
};

/// The kernel of a loop at this position of the loops around it; `depth` is their number. `wanted`
/// is that of place_loop(). Returns nothing for a loop that needs separate launches: its body is
/// not nests alone, it has fewer than two steps, or the nests' shared memory or parameters do not
/// fit together.
std::optional<LoopKernel> loop_kernel(const Plan& plan, const LoopCall& loop,
                                      const Position& position, int depth, std::string_view name,
                                      const Gpu& gpu, std::optional<Placement> wanted);

/// Words of memory for the barrier of a group of blocks; no two groups share a cache line.
constexpr unsigned kBarrierWords = 32;

}  // namespace graphc::core::cuda
