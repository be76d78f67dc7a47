// SPDX-License-Identifier: Apache-2.0
// What the body of a scan with lengths computes on after a row has ended.
//
// The results of the body are discarded there, so their cotangents are 0. But the gradient of a
// captured value is a sum over all rows, and 0 times an infinite derivative is NaN. The body must
// therefore see harmless values there. In each step past its end, a row gets its own first step:
// the slices of the streams and the initial values of the states. An ended row is then singular
// only where the row alone would be. (Zeros would make x / |x| and log(x) singular in every shorter
// row. The last step would expose the final state of the row, which the row alone never feeds to
// the body.) A row with no steps gets the first step of the first row that has one.
#pragma once

#include "ir/build.h"

namespace graphc::core {

class EndedRows {
 public:
  /// Lengths are integers [batch] or []. Both are values of the graph around the loop.
  EndedRows(Value lengths, int64_t steps, bool reverse);

  /// Whether each row has each step (or the step after it, in loop order): bool [steps, batch, 1,
  /// ...] for values [batch, ...] of this rank, [steps] for lengths [].
  Value has_step(int rank) const { return has_step(rank, 0); }
  Value has_next_step(int rank) const { return has_step(rank, 1); }
  /// The stream with the row's first step in place of steps past its end; no gradient flows through
  /// those.
  Value stream(Value x) const;
  /// The initial value of a state; a row with no steps gets that of another row.
  Value first_state(Value initial) const;
  /// The final value of a state initialised with first_state(): `initial` for a row with no steps.
  Value last_state(Value final, Value initial) const;

 private:
  Value has_step(int rank, int ahead) const;
  bool of_rows() const { return lengths_.shape().rank() == 1; }
  int64_t rows() const { return of_rows() ? lengths_.shape()[0] : 1; }
  /// Whether each row has any step, for values [rows, ...] of this rank.
  Value has_any(int rank) const;

  Value lengths_;  ///< in a type that can count to `steps`
  int64_t steps_;
  bool reverse_;
  Value row_;    ///< whose first step a row gets: itself, or the first with steps; [rows] or none
  Value place_;  ///< index of that step among all rows of all steps, or of the first step
};

}  // namespace graphc::core
