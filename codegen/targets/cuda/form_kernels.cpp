// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/form_kernels.h"

#include <algorithm>
#include <utility>

#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "codegen/within_memory.h"
#include "passes/chunk.h"
#include "passes/pipeline.h"

namespace graphc::core::cuda {

GraphPtr form_gpu_kernels(const GraphPtr& graph, const CompileOptions& options,
                          const Machine& machine, int64_t memory_bytes, CompileReport& report) {
  StepMemory memory{options.memory > 0 ? options.memory : memory_bytes, targets::cuda.kernels,
                    [&](const Graph& kernels) { return make_plan(kernels, machine).arena_bytes; }};
  memory.traits.largest_whole = std::max(kLargestWhole, memory.limit / 16);
  GraphPtr kernels = form_kernels_for(graph, options, report, memory.traits);
  // What a library's layers save is not in the arena.
  if (leaves_layers(options.variant)) return kernels;
  return within_memory(graph, std::move(kernels), options, memory, report);
}

}  // namespace graphc::core::cuda
