// SPDX-License-Identifier: Apache-2.0
// The machine code of a graph, to be looked at.
#pragma once

#include <string>
#include <vector>

#include "codegen/target.h"
#include "codegen/targets/cpu/cpu_features.h"
#include "codegen/targets/cpu/jit/disassemble.h"
#include "ir/graph.h"

namespace graphc::core::cpu {

/// Every instruction that the CPU target makes of the graph, on one thread.
std::vector<Instruction> code_of(const GraphPtr& graph, const CpuFeatures& cpu,
                                 const CompileOptions& options);

/// How many instructions match a regular expression.
int64_t count_of(const std::vector<Instruction>& code, const std::string& pattern);
inline bool any_of(const std::vector<Instruction>& code, const std::string& pattern) {
  return count_of(code, pattern) > 0;
}

}  // namespace graphc::core::cpu
