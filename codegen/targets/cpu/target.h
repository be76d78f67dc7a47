// SPDX-License-Identifier: Apache-2.0
// The CPU target's stages from kernels to machine code, for the tools that show them.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "codegen/compile.h"
#include "codegen/targets/cpu/cpu_features.h"

namespace graphc::core::cpu {

/// The CPU that the options select. Throws ErrorKind::usage as cpu_named() does.
CpuFeatures cpu_of(const CompileOptions& options);

/// The graph of kernels that the CPU target plans and emits: the result of the variant's passes and
/// then `fuse`. It depends only on the options `variant`, `unroll`, `remat` and `memory`, so that
/// one graph serves every CPU and number of threads. Throws ErrorKind::input for an operation that
/// the target has no code for (codegen/targets/cpu/support.h).
GraphPtr form_cpu_kernels(const GraphPtr& graph, const CompileOptions& options,
                          CompileReport& report);

/// The number of threads that walk the plan of these kernels: that of the options, by default the
/// number of cores that the process may use. One if the work is so small that one thread finishes
/// it before a sleeping thread wakes up.
int team_size(const Graph& kernels, const CompileOptions& options);

/// The stages of show(): the kernels with their analysis, the plan of memory and calls, the step,
/// LLVM IR, assembly.
inline constexpr std::array<std::string_view, 5> kStages{"kernels", "plan", "step", "llvm", "asm"};
/// The graph at one of kStages.
std::string show(const GraphPtr& graph, const CompileOptions& options, std::string_view stage);

}  // namespace graphc::core::cpu
