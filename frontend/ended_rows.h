// SPDX-License-Identifier: Apache-2.0
// What the body of a scan with lengths sees where a row has ended.
//
// What the body makes there goes nowhere: its cotangents are 0. But the gradient of what it
// captures is a sum over all rows, and 0 times an infinite derivative is NaN, so the body must see
// what it sees elsewhere too. On every step that a row does not have, it gets the row's first step:
// of the streams the slice, of the states the initial value. So an ended row is as singular as that
// row alone, no more. (With zeros, x / |x| and log(x) are singular in every shorter row. With the
// last step, a state at the end of its row is one that the row alone gives to nobody.) A row
// without any step gets the first step of the first row that has one.
#pragma once

#include "ir/build.h"

namespace graphc::core {

class EndedRows {
 public:
  /// Lengths are integers [batch] or []; both are values of the graph around the loop.
  EndedRows(Value lengths, int64_t steps, bool reverse);

  /// Whether each row has each step, or the one that the loop does after it: bool [steps, batch, 1,
  /// ...] for values [batch, ...] of a rank, [steps] for lengths [].
  Value has_step(int rank) const { return has_step(rank, 0); }
  Value has_next_step(int rank) const { return has_step(rank, 1); }
  /// The stream with the row's first step wherever a row has none; it has no derivative there.
  Value stream(Value x) const;
  /// The initial value of a state: that of another row where a row has no step.
  Value first_state(Value initial) const;
  /// The final value of a state that began as first_state(): `initial` where a row has no step.
  Value last_state(Value final, Value initial) const;

 private:
  Value has_step(int rank, int ahead) const;
  bool of_rows() const { return lengths_.shape().rank() == 1; }
  int64_t rows() const { return of_rows() ? lengths_.shape()[0] : 1; }
  /// Whether each row has a step, for values [rows, ...] of a rank.
  Value has_any(int rank) const;

  Value lengths_;  ///< in a type that counts to the steps
  int64_t steps_;
  bool reverse_;
  Value row_;    ///< whose first step a row gets: itself, or the first that has one; [rows] or none
  Value place_;  ///< where that step lies among all rows of all steps, or all of the first step
};

}  // namespace graphc::core
