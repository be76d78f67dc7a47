// SPDX-License-Identifier: Apache-2.0
// Cells whose rows carry a matrix with a linear recurrence, and cells that only look like it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/graph.h"

namespace graphc::core::testing {

/// A graph in the text of the language; `<T>` stands for the number of steps.
struct LinearCell {
  std::string_view name;
  std::string_view text;
  std::string_view why_not = {};  ///< the remark of the pass, of cells that are not linear
};

/// Cells that are computed in chunks.
std::span<const LinearCell> linear_cells();
/// Cells that are not.
std::span<const LinearCell> other_cells();

GraphPtr graph_of(const LinearCell& cell, int64_t steps);

}  // namespace graphc::core::testing
