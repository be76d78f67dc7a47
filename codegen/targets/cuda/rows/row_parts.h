// SPDX-License-Identifier: Apache-2.0
// The shares that the blocks of a row have of sums (row_division.h): where they lie in memory, and
// the kernel that adds them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "codegen/targets/cuda/rows/row_memory.h"
#include "codegen/targets/cuda/text/kernel_text.h"

namespace graphc::core::cuda {

/// The kernel that adds the shares of all parts.
struct SumOfShares {
  KernelText kernel;
  Grid grid;
  std::vector<LaunchValue> arguments;
};
/// None if nothing that is stored is in shares.
std::optional<SumOfShares> sum_of_shares(const LoopNests& nests, const RowLoop& loop,
                                         const RowThreads& threads, std::string_view name);

/// Where the shares of a value lie: for each part, and for what is whole, all steps, or one where
/// its memory stays the same; for each step all rows; for each row the elements.
struct Shares {
  DType dtype = DType::f32;  ///< in which they are added
  int64_t offset = 0;        ///< bytes
  int64_t steps = 0, elements = 0;
  int64_t count = 0;  ///< that are added: one for each part, and one for what is whole

  int64_t of_part(const RowLoop& loop) const { return steps * loop.loop_rows * elements; }
  /// The end of all, in bytes.
  int64_t end(const RowLoop& loop) const {
    return offset + count * of_part(loop) * int64_t(size_of(dtype));
  }
};
/// Those of a value that is stored in shares.
Shares shares_of(const LoopNests& nests, const RowLoop& loop, const RowThreads& threads, size_t v);
/// Bytes that all shares take.
int64_t bytes_of_shares(const LoopNests& nests, const RowLoop& loop, const RowThreads& threads);

}  // namespace graphc::core::cuda
