// SPDX-License-Identifier: Apache-2.0
// Kernels of rows by index, and of matrices that are put into panels. They need no atomics: every
// row that is written has one block of threads, which adds in the order of the indices.
#pragma once

#include <vector>

#include "codegen/step/position.h"
#include "codegen/targets/cuda/text/kernel_text.h"

namespace graphc::core::cuda {

/// What a launch gives for a parameter.
struct KernelArgument {
  enum class Kind : uint8_t {
    number,
    address,     ///< in the plan, at the position of the launch
    fault,       ///< the words that say which index lies outside its table (Fault)
    scratch,     ///< memory of the launches of one record
    arrived,     ///< the words that count blocks that wait; 0 before each launch
    stuck,       ///< the word that says in which loop blocks waited in vain (Fault)
    patience,    ///< how often a block looks whether the others have come, before it is in vain
    loop,        ///< what `stuck` says of the launch's loop
    not_finite,  ///< the word that says that a result or state is not finite (Fault)
  };
  Kind kind = Kind::number;
  int64_t number = 0;
  const Address* address = nullptr;

  static KernelArgument of(int64_t number) { return {Kind::number, number, nullptr}; }
  static KernelArgument of(const Address& address) { return {Kind::address, 0, &address}; }
};

/// The same when the launch is fixed.
struct LaunchValue {
  KernelArgument::Kind kind = KernelArgument::Kind::number;
  int64_t number = 0;
  BufferPlace place;  ///< of an address
};

/// What went wrong in a step: words that are read when it has ended, all 0 when nothing did.
struct Fault {
  /// The first index outside its table: its record, counted from 1, its position and the index. The
  /// step goes on: a row outside the table is zeros where it is read, and not written.
  int64_t record = 0, position = 0, index = 0;
  /// A loop whose blocks waited too long for each other, counted from 1. All left it then.
  uint32_t stuck = 0;
  /// Whether a result or a state that was written is not finite; where that is looked at.
  uint32_t not_finite = 0;
};

/// A kernel with what a launch of it gets. Equal texts are one kernel.
struct KernelUse {
  KernelText kernel;
  Grid grid;
  std::vector<KernelArgument> arguments;
};

/// The launches of a table's record, in order. `record` is what a fault says, from 1.
std::vector<KernelUse> table_kernels(const TableCall& call, int64_t record);
/// Bytes of scratch memory that they need.
int64_t table_scratch_bytes(const TableCall& call);

/// Puts a matrix into panels.
KernelUse panel_kernel(const PanelCall& call);

}  // namespace graphc::core::cuda
