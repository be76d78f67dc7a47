// SPDX-License-Identifier: Apache-2.0
// From a row program to nests: one nest for each stage and column space.
#pragma once

#include <functional>

#include "codegen/plan/plan.h"
#include "passes/row_program.h"

namespace graphc {

/// Where the values of a row program lie, and where what it needs on the way may be put.
struct RowBinding {
  std::vector<View> inputs;   ///< of the body's inputs, in order
  std::vector<View> results;  ///< where each result goes
  std::function<View(const Type&, const std::string&)> temporary;  ///< a new buffer
  std::function<View(const Node&)> constant;                       ///< of a constant that is a list
  std::function<int(NestProgram)> program;  ///< index of a program in the plan
  /// Elementwise rows that lie one after another may become one long row: not in a loop whose rows
  /// are shared out to threads.
  bool flatten = true;
  std::string name;
};

/// The nests of a body, in order. Products have their matrices as they lie: `packed` is false.
std::vector<NestCall> lower_rows(const Graph& body, const RowProgram& rows,
                                 const RowBinding& binding);

/// A nest that copies one view to another of equal shape and dtype.
NestCall lower_copy(const View& from, const View& to, const RowBinding& binding);

/// A nest that sums (or takes the maximum of) a matrix over its leading axis: [rows, columns] to
/// [columns].
NestCall lower_column_reduction(const View& from, const View& to, bool maximum,
                                const RowBinding& binding);

}  // namespace graphc
