// SPDX-License-Identifier: Apache-2.0
// Emits the machine code of nests: the one emitter of the CPU target.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/machine.h"
#include "codegen/targets/cpu/jit/code_module.h"
#include "codegen/walk/nest_abi.h"

namespace graphc::core::cpu {

/// Code that nests call, generated once for all of them: a module with one exported symbol.
struct SharedCode {
  std::string symbol;
  std::function<void(CodeModule&)> emit;
};

/// The shared code that a program's nest calls; it must be linked before the nest.
std::vector<SharedCode> shared_code_of(const NestProgram& program);

/// Adds to `kernel` an exported function `name` of type NestFunction that runs `program` with its
/// tile. Throws ErrorKind::input, naming the operation or dtype, if the CPU target has no code for
/// it.
void emit_nest(CodeModule& kernel, std::string_view name, const NestProgram& program);

}  // namespace graphc::core::cpu
