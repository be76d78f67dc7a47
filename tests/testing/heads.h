// SPDX-License-Identifier: Apache-2.0
// A recurrent cell whose state has heads, each with a matrix of its own.
#pragma once

#include <string>

#include "ir/graph.h"

namespace graphc::core::testing {

/// A loop of four steps over states h and c [batch, heads, units], with two gates, and the
/// gradients of the mean of the squares of h by its inputs. `more`, the text of a value of a step
/// that may read the states %h and %c, is added to the gates, [batch, heads, 2 units].
GraphPtr cell_with_heads(int64_t heads, int64_t batch, int64_t units,
                         const std::string& more = "%x.t");

/// Such a cell as xLSTM's authors have it: states are [batch, heads * units], gates [batch, 2 *
/// heads * units], those of all heads side by side.
GraphPtr cell_with_heads_in_a_vector(int64_t heads, int64_t batch, int64_t units);

}  // namespace graphc::core::testing
