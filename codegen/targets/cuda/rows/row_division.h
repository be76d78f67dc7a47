// SPDX-License-Identifier: Apache-2.0
// Rows that several blocks divide along an axis of the matrix.
//
// What has elements along the axis is divided. Everything else every block computes for itself, if
// it can: a sum over the axis it cannot. Its share of such a sum is enough where only linear
// operations stand between the sum and memory: the shares of all blocks, and what they make of
// them, add up to the whole. A step backward is linear in its gradients, so it can be divided
// unless the gradient of the matrix needs a sum over the axis. Where a share meets a whole number
// in a sum, the first block adds that and the others do not. If that is the last thing that is done
// before memory, the whole number is a share of its own, which is added last, as in the user's sum:
// added to the first share, it would be rounded with every other.
#pragma once

#include <optional>
#include <vector>

#include "codegen/targets/cuda/rows/row_values.h"

namespace graphc::core::cuda {

/// Which values are shares, if several blocks divide a row.
struct Division {
  /// By value: at the end of a step, and of carried ones at its start.
  std::vector<bool> is_share, starts_as_share;
  /// By value: the blocks must not store it where they load it, since none waits for the others.
  std::vector<bool> is_late;
  /// By value: it is stored in shares, and what is added to them last is whole (last_sum()).
  std::vector<bool> ends_whole;
  /// By nest and operand: what it loads is a share.
  std::vector<std::vector<bool>> operands;

  /// Whether blocks store shares of it, which are added afterwards. The shares of a late value that
  /// is whole are that of the first block and zeros.
  bool in_shares(size_t value) const {
    return !is_share.empty() && (is_share[value] || is_late[value]);
  }
};

/// That of a loop whose blocks divide the rows of the matrix, or its columns; none if they cannot.
std::optional<Division> divided(const Plan& plan, const RowLoop& loop, bool rows);

/// For each instruction of a nest whether it makes a share, given that of its operands. None if the
/// shares would not add up to the whole. `sums_axis`: its sums go over the divided axis.
std::optional<std::vector<bool>> shares_in(const NestProgram& program,
                                           const std::vector<bool>& operands, bool sums_axis);
/// An addition or a subtraction of a share and what is whole, by instructions.
struct LastSum {
  int share = 0, whole = 0;
  bool subtracts_share = false, subtracts_whole = false;
};
/// That which makes what an instruction stores, if one does; given for each instruction whether it
/// makes a share.
std::optional<LastSum> last_sum(const NestProgram& program, const std::vector<bool>& shares,
                                const NestInstruction& store);

/// Whether an operand of such an instruction is added to shares: the first block alone adds it, if
/// it is whole.
bool is_added(ScalarOp op, int operand);

}  // namespace graphc::core::cuda
