// SPDX-License-Identifier: Apache-2.0
// Carries of a loop that only accumulate: each step adds products, sums over rows or scattered
// rows, and nothing else reads them. Their totals are computed behind the loop (hoist_after.cpp).
//
// Of a loop whose rows carry a matrix, a sum over rows of what the step computes for a matrix would
// need all steps' matrices behind the loop. Here each row accumulates its own instead, in a carry
// of its own, and the rows are added up behind the loop.
#pragma once

#include <optional>
#include <vector>

#include "ir/scan.h"
#include "passes/batch.h"
#include "passes/region.h"
#include "passes/sum_over_steps.h"

namespace graphc::core {

class Accumulated {
 public:
  /// `moves`: whether a value of the step differs between steps; `made_here`: whether it is there
  /// only while the loop runs.
  Accumulated(const Scan& scan, Moves moves, const Moves& made_here);

  /// Whether rows carry a matrix.
  bool has_matrices() const { return rows_.rank() > 0; }
  /// Whether they do, and the step has loops inside.
  bool has_loops() const { return has_matrices() && has_loops_; }
  /// Whether it reduces vectors or numbers over rows that carry a matrix, or what loops inside give
  /// for all of their steps.
  bool joins_rows(const Node& reduction) const;
  /// Whether the carry is one of them.
  bool has(size_t carry) const { return bool(terms_[carry]); }
  bool any() const;
  /// What the total of such a carry needs of all steps.
  Values needed(size_t carry) const;
  /// The matrices that rows accumulate, or sums of them within a row: the loop computes them.
  const Values& of_rows() const { return of_rows_; }

  /// Adds a carry to a loop for each of of_rows(): an input to its body, which is returned, and
  /// zeros, which are made in `to`, to its initial values.
  Values add_carries(Graph& body, ScanParts& parts, Graph& to) const;
  /// Such a carry's next value in the body.
  Value next(size_t row_sum, Value carry, Value matrix) const;

  /// The total of such a carry. `rows` are the last values of the carries of add_carries().
  Value total(size_t carry, Value initial, const Values& rows, Batch& batch, Graph& to) const;

 private:
  using Ints = std::vector<int64_t>;

  void find_terms();
  void find_row_sums(const Moves& made_here);
  bool is_scatter_on_carry(Value term) const;
  Values needed_by(Value term) const;
  /// Of the axes that a sum reduces, those that are rows, and those within a row.
  Ints row_axes(Value sum) const;
  Ints inner_axes(Value sum) const;

  const Scan& scan_;
  Moves moves_;
  Shape rows_;  ///< of a loop whose rows carry a matrix
  bool has_loops_ = false;
  ValueSet carries_;
  ValueSet row_sums_;                         ///< sums over rows of the step's matrices
  Values of_rows_;                            ///< their operands
  std::vector<std::optional<Values>> terms_;  ///< of each carry, last one first
};

}  // namespace graphc::core
