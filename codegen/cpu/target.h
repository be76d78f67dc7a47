// SPDX-License-Identifier: Apache-2.0
// What the tools show of the CPU target on the way to machine code.
#pragma once

#include "codegen/compile.h"

namespace graphc::cpu {

/// The graph of kernels that the CPU target plans and emits: the variant's passes, then `fuse`.
GraphPtr form_cpu_kernels(const GraphPtr& graph, const CompileOptions& options,
                          CompileReport& report);

}  // namespace graphc::cpu
