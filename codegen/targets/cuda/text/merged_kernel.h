// SPDX-License-Identifier: Apache-2.0
// Several nests without products as one kernel: each block executes a part of one of them. A launch
// on a GPU costs microseconds, more than most such nests take.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/row_kernels.h"

namespace graphc::core::cuda {

/// A nest of such a kernel, with the grid and arguments of a separate launch.
struct MergedNest {
  const NestCall* call = nullptr;
  Grid grid;
  std::vector<LaunchValue> arguments;
};

struct MergedKernel {
  KernelText kernel;
  Grid grid;
  std::vector<LaunchValue> arguments;
};

/// Whether a nest can be merged with others: it has no products and the number of threads per block
/// that all of them have.
bool can_be_merged(const NestProgram& program, const Grid& grid);

/// The properties that determine the text of a nest in a merged kernel, except for its name. Nests
/// with equal keys share one body.
std::string merging_key(const NestCall& call);

/// Bytes of parameters and of static shared memory that a merged kernel takes for a nest; the
/// latter count once for nests with the same key.
size_t merged_parameter_bytes(size_t arguments);
int64_t merged_shared_bytes(const NestProgram& program, const NestCall& call);

/// The merged kernel. A launch with many blocks is reduced to about `most_blocks`, which loop over
/// further elements: a block's setup should be short compared with its work.
MergedKernel merged_kernel(const Plan& plan, std::span<const MergedNest> nests,
                           std::string_view name, int64_t most_blocks);

}  // namespace graphc::core::cuda
