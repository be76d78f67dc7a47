// SPDX-License-Identifier: Apache-2.0
// The nests of a loop that is one kernel: how their places move, and where all blocks wait.
#pragma once

#include <optional>
#include <vector>

#include "codegen/step/position.h"

namespace graphc::core::cuda {

/// A loop, where it stands, and the nests of its body that have something to do.
struct LoopNests {
  const Plan* plan = nullptr;
  const LoopCall* loop = nullptr;
  Position position;  ///< of the loops around it
  int depth = 0;      ///< how many those are
  std::vector<const NestCall*> nests;

  const NestProgram& program(size_t nest) const {
    return plan->programs[size_t(nests[nest]->program)];
  }
};

/// An address in a loop: where it is at step 0, how it moves, and where it is in the first
/// iteration if that is elsewhere.
struct MovingPlace {
  BufferPlace base;
  int64_t step = 0, slot = 0;  ///< bytes per step, and in odd iterations
  std::optional<BufferPlace> first;

  bool stays() const { return step == 0 && slot == 0 && !first; }
};
MovingPlace moving_place(const Address& address, const LoopNests& nests);

/// Whether the right operand of a product is the same matrix in every step: it neither moves nor is
/// written in the loop.
bool is_invariant(const LoopNests& nests, const CallProduct& product);

/// Which elements of a nest a block does in a loop whose blocks own rows and columns.
enum class Owner : uint8_t {
  element,  ///< the block that owns the element's row and column
  row,      ///< one of the blocks that own the row, for all columns
};

/// A store that makes elements of a left operand.
struct HandedStore {
  size_t nest = 0;
  int operand = 0;
  int64_t first_term = 0;  ///< of the left operand: the store's part 0, column 0
  int64_t terms = 0;       ///< with all columns and parts
};

/// A left operand that stores of the loop make, every element of it (loop_exchange.h).
struct Exchange {
  size_t nest = 0, product = 0;  ///< that read it
  bool next_step = false;        ///< it is made in the step before; else in the same one
  std::vector<HandedStore> stores;
};

/// After which nests all blocks of a group of rows wait for each other, where `groups` blocks share
/// out the columns of its rows (step/barriers.h). Rows are private to their blocks
/// (LoopCall::private_rows), or all belong to each. What is exchanged (loop_exchange.h) is read
/// where it is exchanged, and there it is written too.
std::vector<bool> barriers_of(const LoopNests& nests, const std::vector<Owner>& owners,
                              int64_t groups, const std::vector<Exchange>& exchanges = {});

}  // namespace graphc::core::cuda
