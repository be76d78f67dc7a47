// SPDX-License-Identifier: Apache-2.0
// Nests that move or reduce whole values.
#pragma once

#include <string>

#include "codegen/plan/nest_builder.h"

namespace graphc::core {

/// A nest that copies one view to another of equal shape and dtype.
/// `row_axes` as join_axes() has it: rows of a loop are not flattened either.
Nest copy_nest(const View& from, const View& to, const std::string& name, int row_axes = 0);

/// A nest that sums a matrix over its leading axis, or takes the maximum: [rows, columns] to
/// [columns].
Nest column_reduction_nest(const View& from, const View& to, bool maximum, const std::string& name);

}  // namespace graphc::core
