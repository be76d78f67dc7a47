// SPDX-License-Identifier: Apache-2.0
// Disassembly of machine code: shows what the processor runs, whatever the code generator was asked
// for.
#pragma once

#include <string>
#include <vector>

#include "codegen/targets/cpu/jit/jit.h"

namespace graphc::core::cpu {

/// One decoded instruction.
struct Instruction {
  std::string bytes;  ///< its encoding, including prefixes
  std::string text;   ///< in AT&T syntax, mnemonic first: "vaddps %ymm0, %ymm1, %ymm2"
};

/// Every instruction in the code of an object, of any instruction set. Throws an internal error for
/// bytes that are not an object or not an instruction of this machine.
std::vector<Instruction> disassemble(const ObjectCode& object);

}  // namespace graphc::core::cpu
