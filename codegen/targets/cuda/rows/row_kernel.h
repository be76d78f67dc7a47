// SPDX-License-Identifier: Apache-2.0
// A loop whose rows carry a matrix as one kernel: a block takes a row through all steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "codegen/targets/cuda/loops/loop_kernel.h"
#include "codegen/targets/cuda/rows/row_parts.h"

namespace graphc::core::cuda {

struct RowKernel {
  LoopKernel loop;
  /// Adds what the blocks of a row have shares of, after the loop.
  std::optional<SumOfShares> sums;
  int64_t scratch_bytes = 0;  ///< of these shares
};

/// The kernel of a loop, or why there is none.
struct RowKernelPlan {
  std::optional<RowKernel> kernel;
  std::string reason;
};

/// The kernel of a loop of the form of row_loop() (row_values.h). Extents of
/// the matrix and its strides are constants of the text, so that a thread's elements are in
/// registers; the number of steps is a parameter, and that of rows the number of blocks. `gpu` says
/// how many blocks run at a time. Sums are of a thread's elements
/// first, in ascending order, then of its warp's lanes in a tree, then of the warps, ascending.
RowKernelPlan row_kernel(const LoopNests& nests, std::pair<int, int> phases, std::string_view name,
                         const Gpu& gpu);

}  // namespace graphc::core::cuda
