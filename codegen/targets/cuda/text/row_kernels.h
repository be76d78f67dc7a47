// SPDX-License-Identifier: Apache-2.0
// Kernels that move rows by index, and kernels that pack matrices into panels. They need no
// atomics: each written row belongs to one block of threads, which adds in the order of the
// indices.
#pragma once

#include <vector>

#include "codegen/step/position.h"
#include "codegen/targets/cuda/text/kernel_text.h"

namespace graphc::core::cuda {

/// The value that a launch passes for a parameter.
struct KernelArgument {
  enum class Kind : uint8_t {
    number,
    address,     ///< in the plan, at the launch's position in its loops
    fault,       ///< words that record an index outside its table (Fault)
    scratch,     ///< memory shared by the launches of one record
    arrived,     ///< words that count the blocks waiting at a barrier; 0 before each launch
    stuck,       ///< the word that records in which loop blocks waited in vain (Fault)
    patience,    ///< how often a block polls for the others before it gives up
    loop,        ///< the value of `stuck` for the launch's loop
    not_finite,  ///< the word that records that a result or state is not finite (Fault)
    exchanged,   ///< memory shared by the collectives of a step: `number` is the byte in it
  };
  Kind kind = Kind::number;
  int64_t number = 0;
  const Address* address = nullptr;

  static KernelArgument of(int64_t number) { return {Kind::number, number, nullptr}; }
  static KernelArgument of(const Address& address) { return {Kind::address, 0, &address}; }
};

/// The same for a fixed launch.
struct LaunchValue {
  KernelArgument::Kind kind = KernelArgument::Kind::number;
  int64_t number = 0;
  BufferPlace place;  ///< of an address
};

/// Errors during a step: words that are read when it has ended, all 0 if there were none.
struct Fault {
  /// The first index outside its table: its record, counted from 1, its position and the index. The
  /// step continues: a row outside the table is read as zeros and not written.
  int64_t record = 0, position = 0, index = 0;
  /// The loop whose blocks waited too long for each other, counted from 1. All of them left it
  /// then.
  uint32_t stuck = 0;
  /// Whether a result or a written state is not finite, where that is checked.
  uint32_t not_finite = 0;
};

/// A kernel and the arguments of a launch. Equal texts are one kernel.
struct KernelUse {
  KernelText kernel;
  Grid grid;
  std::vector<KernelArgument> arguments;
};

/// The launches of a table's record, in order. `record` is reported in a fault, counted from 1.
std::vector<KernelUse> table_kernels(const TableCall& call, int64_t record);
/// Bytes of scratch memory that they need.
int64_t table_scratch_bytes(const TableCall& call);

/// Packs a matrix into panels.
KernelUse panel_kernel(const PanelCall& call);

}  // namespace graphc::core::cuda
