// SPDX-License-Identifier: Apache-2.0
// The instructions of PTX that inlined assembly may hold.
#pragma once

#include <span>
#include <string_view>

#include "tests/cuda/emulator/code.h"

namespace graphc::cuda_emulator {

/// Registers that an instruction names together: one, or several in braces.
struct PtxGroup {
  char type = 'r';  ///< as the constraint of inlined assembly: r 32 bits, f a float
  int count = 1;
  bool in_braces = false;
};

struct PtxInstruction {
  std::string_view name;
  std::span<const PtxGroup> groups;  ///< the first is what it writes
  /// a: all lanes of a warp; b: the first of what it reads, the others in the registers behind it.
  Operation operation = nullptr;
  Control control = Control::plain;

  size_t results() const { return size_t(groups[0].count); }
  size_t operands() const;  ///< results included
};

/// Null: there is none of that name.
const PtxInstruction* ptx_named(std::string_view name);
/// All names, in words.
std::string ptx_names();

// ptx_matrix.cpp: d = a b + c, of which each lane of a warp holds a part. Products are exact. The
// sum takes terms in groups, eight of 16-bit numbers and four of tf32: all of a group and the sum
// so far are cut off, toward zero, 23 bits below the leading bit of the largest, then summed
// exactly, and cut off to an f32. That is what has been found out of the first tensor cores; later
// ones keep one or two bits more. No GPU rounds worse, and none as well as to nearest.
void multiply_tf32(Warp& warp, const Instruction& instruction, uint32_t lanes);
void multiply_bf16(Warp& warp, const Instruction& instruction, uint32_t lanes);
void multiply_f16(Warp& warp, const Instruction& instruction, uint32_t lanes);

}  // namespace graphc::cuda_emulator
