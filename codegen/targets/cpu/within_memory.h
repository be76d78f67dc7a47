// SPDX-License-Identifier: Apache-2.0
// Steps that need more memory than there is save fewer states of their loops.
#pragma once

#include "codegen/compile.h"

namespace graphc::core::cpu {

/// The kernels, or, if the arena of their plan exceeds the options' memory and remat is `auto`,
/// those of the graph with the states of every so many steps saved, if that takes less. Adds a
/// remark of the bytes with and without. Loops that no gradient depends on stay as they are.
GraphPtr within_memory(const GraphPtr& graph, GraphPtr kernels, const CompileOptions& options,
                       CompileReport& report);

}  // namespace graphc::core::cpu
