// SPDX-License-Identifier: Apache-2.0
// Numbers of rows in counted loops (counted_loop.h): sums and maxima along rows, as of layer norm
// or softmax, and what is computed of them, with one number for each row.
//
// The columns of a row belong to the lanes of several blocks. A lane reduces its own elements; the
// four lanes of a row meet by shuffles, the warps of a block in shared memory, and each block sends
// what it has of each row to all blocks: in a cluster an mbarrier counts the bytes, in memory all
// meet at a barrier. Then every lane adds what the blocks sent, in a fixed order, and has the
// numbers of its rows in registers. A nest with one column is computed by every lane for its rows,
// so that nothing is sent.
//
// A variance would take two exchanges, of a sum and then of the squares of the distances from the
// mean. Both go in one: a warp, a block and all blocks in turn know their sum, their mean and the
// sum of the squares of the distances from it, and from each to the next
//   squares = sum of the parts' squares + sum of (sum of a part - count of a part * mean)^2 / count
// (Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979), which adds numbers that are not negative: nothing cancels.
//
// Such an exchange is also a barrier: who has received a number of all blocks knows that all their
// warps have come to the end of that nest, since a block sends behind a meeting of its warps. Where
// one lies between the use of an operand and what is handed on for the next, one copy of it is
// enough: warps that hand on have waited for the numbers, or have met those that did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/targets/cuda/loops/loop_barriers.h"

namespace graphc::core::cuda {

/// A number of each row: a reduction of a nest, or a store of a nest with one column.
struct RowNumber {
  size_t nest = 0, made = 0;  ///< the instruction in the nest's body, of a reduction the first one
  int operand = 0;            ///< of the nest
  bool in_memory = false;     ///< whether the first block stores it, since something reads it there
};

/// A load of such a number, in the step that makes it.
struct RowLoad {
  size_t nest = 0, load = 0;
  size_t from = 0;  ///< among RowNumbers::numbers
};

/// The sum of the squares of the distances from a mean, and the instruction that computes what is
/// summed, in the nest that sums it for the mean.
struct RowSquares {
  size_t number = 0;  ///< among RowNumbers::numbers
  size_t of = 0;
};

/// The reductions of a nest, as blocks exchange them: sums, maxima, then squares, in chunks of
/// `words`, the last of each filled up. Places are in words of shared memory.
struct RowExchange {
  size_t nest = 0;
  std::vector<size_t> sums, maxima;  ///< among RowNumbers::numbers
  std::vector<RowSquares> squares;   ///< of the first sums, in their order
  int words = 4;                     ///< of a chunk: 2 or 4
  int64_t of_warps_at = 0;           ///< one of two copies of what the warps of a block have
  int64_t inbox_at = 0;              ///< one of two copies of what the blocks have sent

  int chunks_of(size_t numbers) const { return (int(numbers) + words - 1) / words; }
  /// The first chunk of maxima, and of squares.
  int first_of_maxima() const { return chunks_of(sums.size()); }
  int first_of_squares() const { return first_of_maxima() + chunks_of(maxima.size()); }
  int chunks() const { return first_of_squares() + chunks_of(squares.size()); }
  /// Words of a row.
  int width() const { return chunks() * words; }
};

struct RowNumbers {
  std::vector<RowNumber> numbers;
  std::vector<RowLoad> loads;
  std::vector<RowExchange> exchanges;
  std::vector<bool> is_of_rows;  ///< by nest: whether it has one column, and makes such numbers
  std::vector<bool> is_done;     ///< by nest: whether others do all that it does
  int64_t columns = 0, columns_of_block = 0;  ///< of the nests that reduce
  /// Whether all blocks have as many columns, and all warps.
  bool are_even = false;

  /// Whether a nest has no elements of its own to compute.
  bool has_no_elements(size_t nest) const { return is_of_rows[nest] || is_done[nest]; }
  /// The exchange of a nest's reductions; null if it has none.
  const RowExchange* exchange_of(size_t nest) const;
  /// Whether an exchange lies between two nests, the second of them in the next step or in the same
  /// one.
  bool orders(size_t from, size_t to) const;
  /// The operands that blocks do not read in memory, for barriers_of().
  std::vector<RowOperand> operands(const LoopNests& nests) const;
};

/// Finds the numbers of rows of a loop. Returns why blocks cannot exchange them; empty if they can,
/// or if there are none.
std::string find_row_numbers(const LoopNests& nests, RowNumbers& found);

/// Lets sums of squares of distances from a mean be exchanged with the sum that the mean is of.
void merge_squares(const LoopNests& nests, RowNumbers& rows);

}  // namespace graphc::core::cuda
