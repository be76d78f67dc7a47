// SPDX-License-Identifier: Apache-2.0
// Machine code back to text: what a processor will run, not what was asked of the code generator.
#pragma once

#include <string>
#include <vector>

#include "codegen/targets/cpu/jit/jit.h"

namespace graphc::core::cpu {

/// One instruction as it lies in memory.
struct Instruction {
  std::string bytes;  ///< its encoding, prefixes included
  std::string text;   ///< AT&T's spelling, mnemonic first: "vaddps %ymm0, %ymm1, %ymm2"
};

/// Every instruction of the code of an object, of whatever instruction set. Throws an internal
/// error for bytes that are no object or no instruction of this machine.
std::vector<Instruction> disassemble(const ObjectCode& object);

}  // namespace graphc::core::cpu
