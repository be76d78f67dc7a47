// SPDX-License-Identifier: Apache-2.0
// The instructions of PTX that inlined assembly may hold.
#pragma once

#include <span>
#include <string_view>

#include "tests/cuda/emulator/code.h"

namespace graphc::core::cuda_emulator {

/// Registers that an instruction names together: one, or several in braces.
struct PtxGroup {
  char type = 'r';  ///< as the constraint of inlined assembly: r and l 32 and 64 bits, f a float
  int count = 1;
  bool in_braces = false;
  bool in_brackets = false;  ///< an address
  std::string_view literal;  ///< a number that the text has here, in place of registers
};

struct PtxInstruction {
  std::string_view name;
  std::span<const PtxGroup> groups;  ///< none: it has no operands
  /// a: all lanes of a warp; b: the first of what it reads, the others of its width in the
  /// registers behind it, or of an instruction that writes no register the first of 64 bits; c: the
  /// last.
  Operation operation = nullptr;
  Control control = Control::plain;
  /// Orders what the thread does in memory: the text has to say so to the compiler.
  bool orders_memory = false;
  enum class Result : uint8_t {
    first,      ///< the first group is what it writes
    none,       ///< it writes no register
    ignored,    ///< the same; the text has `_` for what it would write
    predicate,  ///< as `first`, of an instruction that writes a predicate: the text declares it and
                ///< selects 1 or 0 by it
  };
  Result result = Result::first;
  bool is_function = false;  ///< of its operands alone: need not be volatile

  bool writes() const { return result == Result::first || result == Result::predicate; }
  size_t results() const { return groups.empty() || !writes() ? 0 : size_t(groups[0].count); }
  size_t operands() const;  ///< results included
};

/// Null: there is none of that name, with these literals in its text.
const PtxInstruction* ptx_named(std::string_view name, std::string_view text);
/// All names, in words.
std::string ptx_names();

/// asynchronous.cpp: mbarriers, and what is counted by them.
std::span<const PtxInstruction> asynchronous_instructions();
/// copies.cpp: copies that the copying thread waits for.
std::span<const PtxInstruction> copy_instructions();

/// ptx.cpp: where in the shared memory of the cluster's block c lies what lies at b in the own
/// block's.
void map_shared_rank(Warp& warp, const Instruction& instruction, uint32_t lanes);

// ptx_matrix.cpp: d = a b + c, of which each lane of a warp holds a part. Products are exact. The
// sum takes terms in groups, eight of 16-bit numbers and four of tf32: all of a group and the sum
// so far are cut off, toward zero, 23 bits below the leading bit of the largest, then summed
// exactly, and cut off to an f32. That is what has been found out of the first tensor cores; later
// ones keep one or two bits more. No GPU rounds worse, and none as well as to nearest.
void multiply_tf32(Warp& warp, const Instruction& instruction, uint32_t lanes);
void multiply_bf16(Warp& warp, const Instruction& instruction, uint32_t lanes);
void multiply_f16(Warp& warp, const Instruction& instruction, uint32_t lanes);

/// ptx_matrix.cpp: four matrices of 8 x 8 numbers of 16 bits, of whose rows each lane has the
/// address of one. A lane gets two neighbours of a row of each, or of a column.
void load_matrices(Warp& warp, const Instruction& instruction, uint32_t lanes);
void load_matrices_transposed(Warp& warp, const Instruction& instruction, uint32_t lanes);

}  // namespace graphc::core::cuda_emulator
