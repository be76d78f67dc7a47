// SPDX-License-Identifier: Apache-2.0
// Nests that move or reduce whole values.
#pragma once

#include <optional>
#include <string>

#include "codegen/plan/nest_builder.h"
#include "codegen/step/plan.h"

namespace graphc::core {

/// A nest that copies one view to another of equal shape and dtype.
/// `row_axes` as join_axes() has it: rows of a loop are not flattened either.
Nest copy_nest(const View& from, const View& to, const std::string& name, int row_axes = 0);

/// A copy of one whole buffer to another, element by element in order.
struct WholeCopy {
  const Address &from, &to;
};
std::optional<WholeCopy> whole_copy(const Plan& plan, const Record& record);

/// A nest that sums a matrix over its leading axis, or takes the maximum: [rows, columns] to
/// [columns].
Nest column_reduction_nest(const View& from, const View& to, bool maximum, const std::string& name);

}  // namespace graphc::core
