// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/form_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "codegen/within_memory.h"
#include "passes/chunk.h"
#include "passes/pipeline.h"

namespace graphc::core::cuda {
namespace {

int64_t memory_of(const CompileOptions& options, int64_t memory_bytes) {
  return options.memory > 0 ? options.memory : memory_bytes;
}

/// The kernels, or those with large products for some rows at a time, if their step exceeds the
/// memory and that takes less; `memory` then has their traits.
GraphPtr with_less_whole(const GraphPtr& graph, GraphPtr kernels, const CompileOptions& options,
                         StepMemory& memory, CompileReport& report) {
  KernelTraits traits = memory.traits;
  traits.largest_whole = kLargestWhole;
  if (traits.largest_whole == memory.traits.largest_whole || surely_fits(*kernels, memory.limit))
    return kernels;
  const int64_t whole = memory.arena_bytes(*kernels);
  if (whole <= memory.limit) return kernels;
  CompileReport again;
  GraphPtr divided = form_kernels_for(graph, options, again, traits);
  const int64_t bytes = memory.arena_bytes(*divided);
  if (bytes >= whole) return kernels;
  report.remarks.push_back(
      {"memory",
       "",
       {},
       fmt::format(
           "the step needs {:.0f} MB, more than the {:.0f} MB there are: with large products "
           "for some rows at a time it needs {:.0f} MB",
           double(whole) / 1e6, double(memory.limit) / 1e6, double(bytes) / 1e6),
       true});
  memory.traits = traits;
  return divided;
}

}  // namespace

KernelTraits gpu_traits(const CompileOptions& options, int64_t memory_bytes) {
  KernelTraits traits = targets::cuda.kernels;
  traits.largest_whole = std::max(kLargestWhole, memory_of(options, memory_bytes) / 16);
  return traits;
}

GraphPtr form_gpu_kernels(const GraphPtr& graph, const CompileOptions& options,
                          const Machine& machine, int64_t memory_bytes, CompileReport& report) {
  StepMemory memory{memory_of(options, memory_bytes), gpu_traits(options, memory_bytes),
                    [&](const Graph& kernels) { return make_plan(kernels, machine).arena_bytes; }};
  GraphPtr kernels = form_kernels_for(graph, options, report, memory.traits);
  // What a library's layers save is not in the arena.
  if (leaves_layers(options.variant)) return kernels;
  kernels = with_less_whole(graph, std::move(kernels), options, memory, report);
  return within_memory(graph, std::move(kernels), options, memory, report);
}

}  // namespace graphc::core::cuda
