// SPDX-License-Identifier: Apache-2.0
// What the tools show of the CPU target on the way to machine code.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "codegen/compile.h"
#include "codegen/targets/cpu/cpu_features.h"

namespace graphc::core::cpu {

/// The CPU that options ask for. Throws ErrorKind::usage as cpu_named() does.
CpuFeatures cpu_of(const CompileOptions& options);

/// The graph of kernels that the CPU target plans and emits: the variant's passes, then `fuse`. Of
/// the options it depends on `variant` and `unroll` alone, so that one serves every CPU and number
/// of threads. Throws ErrorKind::input for what it has no code for (codegen/targets/cpu/support.h).
GraphPtr form_cpu_kernels(const GraphPtr& graph, const CompileOptions& options,
                          CompileReport& report);

/// How many threads walk the plan of these kernels: as many as the options say, by default the
/// cores the process may use, or one where there is so little to do that one has done it before a
/// thread that sleeps has woken up.
int team_size(const Graph& kernels, const CompileOptions& options);

/// What show() shows: the kernels with their analysis, the plan of memory and calls, LLVM IR,
/// assembly.
inline constexpr std::array<std::string_view, 5> kStages{"kernels", "plan", "step", "llvm", "asm"};
/// The graph at one of kStages.
std::string show(const GraphPtr& graph, const CompileOptions& options, std::string_view stage);

}  // namespace graphc::core::cpu
