// SPDX-License-Identifier: Apache-2.0
// The nests of a loop that is one kernel: how their addresses move, and where all blocks wait.
#pragma once

#include <optional>
#include <vector>

#include "codegen/step/position.h"

namespace graphc::core::cuda {

/// Bytes from a group of rows to the next (loop_groups.h), of each operand of a nest and of both
/// sides of each product; of an iota, what its index grows by. 0: all groups have the same.
struct GroupStrides {
  std::vector<int64_t> operands, left, right;
};

/// A loop, its position, and the nests of its body that are not empty. With `groups`, the nests are
/// those of the first of several groups of rows, whose matrices differ and which share nothing.
struct LoopNests {
  const Plan* plan = nullptr;
  const LoopCall* loop = nullptr;
  Position position;  ///< of the loops around it
  int depth = 0;      ///< number of loops around it
  std::vector<const NestCall*> nests;
  int64_t groups = 1;
  std::vector<GroupStrides> group_strides = {};  ///< by nest; empty where there is one group
  bool private_rows_of_group = false;            ///< of each of several groups

  /// Whether no access joins two rows, of a group where there are several.
  bool has_private_rows() const { return groups > 1 ? private_rows_of_group : loop->private_rows; }
  const NestProgram& program(size_t nest) const {
    return plan->programs[size_t(nests[nest]->program)];
  }
};

/// An address in a loop: its value at step 0, how it moves, and its value in the first iteration if
/// that differs.
struct MovingPlace {
  BufferPlace base;
  int64_t step = 0, slot = 0;  ///< bytes per step, and added in odd iterations
  std::optional<BufferPlace> first;

  bool stays() const { return step == 0 && slot == 0 && !first; }
};
MovingPlace moving_place(const Address& address, const LoopNests& nests);

/// Whether the right operand of a product is the same matrix in every step: its address does not
/// move, and the loop does not write it.
bool is_invariant(const LoopNests& nests, const CallProduct& product);

/// Which elements of a nest a block computes in a loop whose blocks own rows and columns.
enum class Owner : uint8_t {
  element,  ///< the block that owns the element's row and column
  row,      ///< one of the blocks that own the row, for all columns
  outer,    ///< the block that owns an index around the rows, for all rows and columns
};

/// A store that writes elements of a left operand.
struct HandedStore {
  size_t nest = 0;
  int operand = 0;
  int64_t first_term = 0;  ///< of the left operand: that of the store's part 0, column 0
  int64_t terms = 0;       ///< counting all columns and parts
};

/// A left operand all of whose elements are written by stores of the loop (loop_exchange.h).
struct Exchange {
  size_t nest = 0, product = 0;  ///< the product that reads it
  bool next_step = false;        ///< whether it is written in the step before; else in the same one
  std::vector<HandedStore> stores;
};

/// What orders accesses to exchanged operands: barriers, or the exchange itself (counted_loop.h).
enum class Ordered : uint8_t { by_barriers, by_exchange };

/// An operand that is a number of each row, which all blocks have in registers (counted_rows.h): a
/// load reads no memory, and a store is of the first block, if it is of memory at all.
struct RowOperand {
  size_t nest = 0;
  int operand = 0;
  bool in_memory = false;
};

/// The nests after which all blocks of a group of rows wait for each other, if `groups` blocks
/// share the columns of its rows (step/barriers.h). Rows are private to their blocks
/// (LoopCall::private_rows), or every block has all of them. An exchanged operand (loop_exchange.h)
/// is read from its exchange memory, and written there as well.
std::vector<bool> barriers_of(const LoopNests& nests, const std::vector<Owner>& owners,
                              int64_t groups, const std::vector<Exchange>& exchanges = {},
                              Ordered ordered = Ordered::by_barriers,
                              const std::vector<RowOperand>& rows = {});

}  // namespace graphc::core::cuda
