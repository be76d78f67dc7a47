// SPDX-License-Identifier: Apache-2.0
// Values of a loop's body as linear functions of a matrix that every row carries.
//
// Let S [keys, values] be a row's matrix before a step. In the loops that can take several steps
// at once, what a step makes of it is
//
//     a state   d S + sum over n of x_n u_n'    d, x_n: a number for each key, or one for all
//     a read    a + S' y                        a: a number for each value; y: for each key
//
// where the u_n are reads, and d, x_n, a and y depend on nothing that is read from a matrix. The
// keys are the axis that the step sums over; along the values nothing is exchanged.
//
// Coefficients are values of the graph outside the loop, for all steps: [steps, rows, keys or
// values], where each extent may be 1. All axes before the matrix are one axis of rows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/scan.h"
#include "passes/batch.h"
#include "passes/region.h"

namespace graphc::core {

/// a + S' y. An absent value is zero.
struct ReadForm {
  Value constant;  ///< a
  Value keys;      ///< y
};

/// x u'.
struct Write {
  Value keys;       ///< x
  ReadForm values;  ///< u
};

/// d S + the sum of writes. An absent decay is zero.
struct StateForm {
  Value decay;
  std::vector<Write> writes;
};

/// A carried matrix and what is read from it.
struct LinearCarry {
  size_t index = 0;  ///< among the carries of the loop
  int key_axis = 0;  ///< of the carry
  StateForm next;
  std::vector<std::pair<Value, ReadForm>> reads;  ///< values of the body that other work needs
};

/// What the body knows before it reads a matrix, for all steps.
class KnownSteps {
 public:
  /// `values` are the operands of the scan, in `to`.
  KnownSteps(const Scan& scan, const Values& values, Graph& to);
  /// What a loop over the other carries has emitted.
  void set(Value inner, Value stacked) { batch_.set(inner, {stacked, true}); }
  /// A value of the body, outside the loop. One that depends on a carry and is not set yet is
  /// replaced by an input of the graph, and noted in `crossing`.
  Batched get(Value inner);
  /// A value that is computed from others that are set.
  Batched computed(Value inner) { return batch_.get(inner); }
  const ValueSet& crossing() const { return crossing_; }
  Graph& graph() const { return to_; }
  int64_t steps() const { return steps_; }

 private:
  Graph& to_;
  int64_t steps_;
  Batch batch_;
  std::vector<bool> of_carries_;  ///< by node of the body
  ValueSet crossing_;
};

/// The matrices that the loop carries as linear functions of themselves, or why they are not.
struct LinearLoop {
  std::vector<LinearCarry> carries;
  /// By node of the body: whether it needs what is read from a matrix, and is not linear in it.
  std::vector<bool> is_late;
  std::string why_not;  ///< empty if they are
};
LinearLoop linear_loop(const Scan& scan, KnownSteps& known);

}  // namespace graphc::core
