// SPDX-License-Identifier: Apache-2.0
// A loop as one kernel: all steps in one launch, whose blocks wait for each other between the nests
// of a step instead of ending. The host launches nothing in between, and compile time and launches
// do not depend on the number of steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/row_kernels.h"
#include "codegen/plan/position.h"

namespace graphc::cuda {

/// An argument of a loop's kernel.
struct LoopArgument {
  KernelArgument::Kind kind = KernelArgument::Kind::number;
  int64_t number = 0;
  BufferPlace place;  ///< of an address
};

struct LoopKernel {
  KernelText kernel;
  unsigned threads = 1;      ///< of a block
  unsigned most_blocks = 1;  ///< more would have nothing to do
  std::vector<LoopArgument> arguments;
};

/// The kernel of a loop at this position of the loops around it; `depth` is how many there are.
/// Nothing for a loop that is launches: its body is not nests alone, it has less than two steps, or
/// the nests' shared memory or parameters do not fit together.
std::optional<LoopKernel> loop_kernel(const Plan& plan, const LoopCall& loop,
                                      const Position& position, int depth, std::string_view name);

}  // namespace graphc::cuda
