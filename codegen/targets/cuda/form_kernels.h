// SPDX-License-Identifier: Apache-2.0
// The kernels of a graph, as they are formed for a GPU.
#pragma once

#include <cstdint>

#include "codegen/compile.h"
#include "codegen/machine.h"

namespace graphc::core::cuda {

/// What kernels can do on a GPU of so many bytes of memory; CompileOptions::memory, if given,
/// replaces them. Results of products are kept whole up to a sixteenth of the memory, and never
/// less than on CPUs: products of all rows keep a GPU busy, and a loop over some rows at a time
/// reads and writes every sum over rows in each step (docs/decisions/0041).
KernelTraits gpu_traits(const CompileOptions& options, int64_t memory_bytes);

/// The kernels of a graph for such a GPU. A step whose arena exceeds the memory computes large
/// products for some rows at a time, as on CPUs, if that takes less, and saves fewer states
/// (within_memory()).
GraphPtr form_gpu_kernels(const GraphPtr& graph, const CompileOptions& options,
                          const Machine& machine, int64_t memory_bytes, CompileReport& report);

}  // namespace graphc::core::cuda
