// SPDX-License-Identifier: Apache-2.0
// Several nests without products as one kernel: each block does a part of one of them. On a GPU a
// launch costs microseconds, more than most such nests take.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/row_kernels.h"

namespace graphc::core::cuda {

/// A nest of such a kernel, as a launch of its own.
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

/// Whether a nest may be one of several in a launch: it has no products, and as many threads a
/// block as all.
bool can_be_merged(const NestProgram& program, const Grid& grid);

/// What decides the text of a nest in a merged kernel, but for its name: nests with equal keys
/// share one body there.
std::string merging_key(const NestCall& call);

/// Bytes of parameters and of static shared memory that a merged kernel takes for a nest; the
/// latter once for nests of one key.
size_t merged_parameter_bytes(size_t arguments);
int64_t merged_shared_bytes(const NestProgram& program, const NestCall& call);

/// The kernel. A launch of many blocks gets about `most_blocks`, which go on to further elements:
/// what a block does before it begins should be little beside what it does.
MergedKernel merged_kernel(const Plan& plan, std::span<const MergedNest> nests,
                           std::string_view name, int64_t most_blocks);

}  // namespace graphc::core::cuda
