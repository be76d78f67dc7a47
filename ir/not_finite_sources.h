// SPDX-License-Identifier: Apache-2.0
// For each element of an op's result: the non-finite elements it is computed from.
#pragma once

#include <functional>
#include <limits>

#include "ir/evaluate_ops.h"

namespace graphc::core::evaluation {

/// The best origins among the elements that an element is computed from: one of the NaN elements
/// and one of the infinite ones. Lower numbers are better.
struct NotFiniteSource {
  static constexpr int none = std::numeric_limits<int>::max();
  int nan = none, infinite = none;

  void add(const NotFiniteSource& other) {
    nan = std::min(nan, other.nan);
    infinite = std::min(infinite, other.infinite);
  }
};
using NotFiniteSources = std::vector<NotFiniteSource>;

/// The source of each element of result `index` of the node with these operands. `again` recomputes
/// the node from other operands.
NotFiniteSources sources_of(const Node& node, int index, const Arrays& operands,
                            const Array& result, const std::function<Arrays(const Arrays&)>& again);

}  // namespace graphc::core::evaluation
