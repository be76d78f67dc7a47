// SPDX-License-Identifier: Apache-2.0
// What a kernel is compiled to: instructions on registers, each done for lanes of a warp at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/emulator/module.h"

namespace graphc::core::cuda_emulator {

struct Instruction;
struct Warp;

/// Does the instruction for these lanes, a bit each.
using Operation = void (*)(Warp& warp, const Instruction& instruction, uint32_t lanes);

/// What an instruction does to the order of instructions.
enum class Control : uint8_t {
  plain,           ///< operation, then the next
  jump,            ///< to `immediate`
  branch_if,       ///< to `immediate` where `a` is not 0
  branch_unless,   ///< to `immediate` where `a` is 0
  leave,           ///< the thread is done
  barrier,         ///< waits for all threads of the block, then operation for each warp
  collective,      ///< waits for the lanes that `a` names, then operation for all of them
  poll,            ///< operation; a thread that goes on finding the same may wait for a change
  poll_mbarrier,   ///< the same of an mbarrier, whose address is in Warp::polled
  cluster_arrive,  ///< the threads have come to the barrier of their cluster, and go on
  cluster_wait,    ///< waits until all threads of the cluster have come
};

constexpr unsigned lanes_of_warp = 32;
/// A register of four bytes has this many in a warp's frame, one of eight twice as many.
constexpr uint32_t register_bytes = 4 * lanes_of_warp;

/// Operands are offsets in the warp's frame.
struct Instruction {
  Operation operation = nullptr;
  uint32_t result = 0, a = 0, b = 0, c = 0;
  int64_t immediate = 0;
  Control control = Control::plain;
};

/// A register that each warp begins with.
struct Preset {
  uint32_t slot = 0;
  bool wide = false;
  uint64_t bits = 0;  ///< of a constant; for another, which one
};

struct Program {
  std::string name;
  std::vector<ParameterType> parameters;
  std::vector<Preset> parameter_slots;  ///< bits: which parameter; unused ones are not there
  std::vector<Preset> constants;
  std::vector<Preset> specials;  ///< bits: as of an ExpressionKind::special, or below
  unsigned most_threads = 1024;
  uint64_t static_shared = 0;
  bool has_dynamic_shared = false;
  uint64_t local_bytes = 0;  ///< of a thread
  uint32_t frame_bytes = 0;  ///< of a warp
  std::vector<Instruction> code;
  std::vector<int> lines;          ///< of each instruction
  std::vector<std::string> names;  ///< of arrays, by the operand `c` of what checks an index
};

/// Specials beyond those that the text spells: where this block's shared memory, its dynamic part
/// and this thread's local memory begin.
enum : uint64_t { special_shared = 12, special_dynamic = 13, special_local = 14 };

}  // namespace graphc::core::cuda_emulator
