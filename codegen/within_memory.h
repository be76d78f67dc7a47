// SPDX-License-Identifier: Apache-2.0
// Steps that need more memory than there is save fewer states of their loops.
#pragma once

#include <cstdint>
#include <functional>

#include "codegen/compile.h"

namespace graphc::core {

/// What a target says of the memory of a step.
struct StepMemory {
  int64_t limit = 0;  ///< bytes that the arena may take
  KernelTraits traits;
  std::function<int64_t(const Graph& kernels)> arena_bytes;  ///< of the plan for these kernels
};

/// Whether the plan for these kernels surely takes no more.
bool surely_fits(const Graph& kernels, int64_t bytes);

/// The kernels, or, if the arena of their plan exceeds the limit and the option remat is `auto`,
/// those of the graph with the states of every so many steps saved, if that takes less. Adds a
/// remark of the bytes with and without. Loops that no gradient depends on stay as they are.
GraphPtr within_memory(const GraphPtr& graph, GraphPtr kernels, const CompileOptions& options,
                       const StepMemory& memory, CompileReport& report);

}  // namespace graphc::core
