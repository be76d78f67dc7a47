// SPDX-License-Identifier: Apache-2.0
// Recurrent cells as programs: what tests of passes are run over. Sizes differ in every axis.
#pragma once

#include <ostream>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace graphc::core::testing {

struct Cell {
  std::string_view name;
  std::string_view text;
  int products = 1;  ///< in a body that was distributed: forward, and as many backward
};

inline void PrintTo(const Cell& cell, std::ostream* out) { *out << cell.name; }

const std::vector<Cell>& all_cells();
GraphPtr parse_cell(const Cell& cell);

}  // namespace graphc::core::testing
