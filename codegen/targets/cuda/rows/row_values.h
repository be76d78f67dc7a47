// SPDX-License-Identifier: Apache-2.0
// What the steps of a loop do to one of its rows, as values that a block can keep in registers.
//
// A loop whose rows are apart (LoopCall::rows_apart) has a small matrix in every row: the state of
// a gated delta rule, an mLSTM or a selective scan. No access joins two rows, so a block can take
// one row through all steps and never waits for another. Its threads divide the matrix. A vector
// is in the registers of every thread that has its rows or columns of the matrix, a number in those
// of all. What one nest stores and another loads then goes from register to register, and threads
// meet only where a sum crosses them.
//
// This file finds that form: which memory is which value, and where a value comes from.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/targets/cuda/loops/loop_barriers.h"
#include "codegen/targets/cuda/rows/row_place.h"

namespace graphc::core::cuda {

/// Where a value comes from.
enum class Origin : uint8_t {
  invariant,  ///< loaded before the steps
  memory,     ///< loaded in each step
  carried,    ///< what the step before left; loaded before the first one
  made,       ///< the step makes it
};

/// A value in the registers of the block.
struct RowValue {
  RowPlace place;
  Spread spread = Spread::number;
  Origin origin = Origin::made;
  /// Of a carried value: the value at the end of a step that is this one at the start of the next.
  /// -1: itself.
  int left_by = -1;
  bool is_stored = false;       ///< something after the loop reads its memory
  bool is_overwritten = false;  ///< loaded from memory that the same step writes later
};

/// A nest with its operands as values.
struct RowNest {
  const NestCall* call = nullptr;
  /// What the nest computes: elements of the matrix, of a vector, or one number.
  Spread domain = Spread::number;
  /// The axes that its sums and maxima go over.
  bool over_rows = false, over_columns = false;
  struct Operand {
    int value = -1;                  ///< -1: a literal or an index
    Spread spread = Spread::number;  ///< as what the nest has it
  };
  std::vector<Operand> operands;  ///< by operand of the program
};

/// The steps of a loop for one row.
struct RowLoop {
  int64_t loop_rows = 0;          ///< rows of the loop
  int64_t rows = 0, columns = 0;  ///< of the matrix in each
  std::vector<RowValue> values;
  std::vector<RowNest> nests;
};

/// That form of a loop, or why it has none.
struct RowPlan {
  std::optional<RowLoop> loop;
  std::string reason;  ///< "it has matrices of 4 x 5 and of 4 x 2"
};

/// The form of a loop whose rows are apart, and of whose body `nests` are all. Matrices of several
/// extents, vectors of others, and memory of which it is not certain which value it holds have
/// none. `phases` are the first and the last phase of the loop.
RowPlan row_loop(const LoopNests& nests, std::pair<int, int> phases);

}  // namespace graphc::core::cuda
