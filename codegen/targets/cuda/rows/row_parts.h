// SPDX-License-Identifier: Apache-2.0
// Rows that several blocks divide along an axis of the matrix.
//
// What has elements along the axis is divided. Everything else every block computes for itself, if
// it can: a sum over the axis it cannot. Its share of such a sum is enough where only linear
// operations stand between the sum and memory: then each block stores what they make of its share,
// and the shares are added afterwards. Gradients of what all columns read are such sums, and no
// step waits for them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "codegen/targets/cuda/rows/row_memory.h"
#include "codegen/targets/cuda/text/kernel_text.h"

namespace graphc::core::cuda {

/// For each value whether a block would have only a share of it, if blocks divide the rows of the
/// matrix, or its columns. None if they cannot.
std::optional<std::vector<bool>> shares_along(const Plan& plan, const RowLoop& loop, bool rows);

/// The kernel that adds the shares of all parts.
struct SumOfShares {
  KernelText kernel;
  Grid grid;
  std::vector<LaunchValue> arguments;
};
/// None if nothing that is stored is in shares.
std::optional<SumOfShares> sum_of_shares(const LoopNests& nests, const RowLoop& loop,
                                         const RowThreads& threads, std::string_view name);

/// Where the shares of a value lie: for each part all steps, or one where its memory stays the
/// same; for each step all rows; for each row the elements.
struct Shares {
  DType dtype = DType::f32;  ///< in which they are added
  int64_t offset = 0;        ///< bytes
  int64_t steps = 0, elements = 0;

  int64_t of_part(const RowLoop& loop) const { return steps * loop.loop_rows * elements; }
};
/// Those of a value that is stored in shares.
Shares shares_of(const LoopNests& nests, const RowLoop& loop, const RowThreads& threads, size_t v);
/// Bytes that all shares take.
int64_t bytes_of_shares(const LoopNests& nests, const RowLoop& loop, const RowThreads& threads);

}  // namespace graphc::core::cuda
