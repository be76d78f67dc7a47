// SPDX-License-Identifier: Apache-2.0
// From a model of rows to nests: one nest for each stage and column space.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/step/plan.h"
#include "passes/kernels/row_model.h"

namespace graphc::core {

class LowerContext;

/// Where the values of a body lie.
struct RowBinding {
  std::vector<View> inputs;   ///< of the body's inputs, in order
  std::vector<View> results;  ///< where each result goes
  std::string name;           ///< of the kernel
  /// Elementwise rows that lie one after another may become one long row: not in a loop whose rows
  /// are shared out.
  bool flatten = true;
  /// How each result is reduced over the last axis of the rows, if it is; its view has extent 1
  /// there, or no such axis. Such results are elementwise. Empty: none is reduced.
  std::vector<std::optional<OperandKind>> reductions = {};
};

/// The nests of a body, in order; what it needs on the way goes into new buffers of the plan.
/// Products have their matrices as they lie: `in_panels` is false.
std::vector<NestCall> lower_rows(LowerContext& context, const Graph& body, const RowModel& rows,
                                 const RowBinding& binding);

}  // namespace graphc::core
