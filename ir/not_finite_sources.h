// SPDX-License-Identifier: Apache-2.0
// Of which elements that are not finite each element of an op's result is computed.
#pragma once

#include <functional>
#include <limits>

#include "ir/evaluate_ops.h"

namespace graphc::core::evaluation {

/// The best origin among the elements that an element is computed of: one of those that are NaN and
/// one of those that are infinite. The lower number is the better one.
struct NotFiniteSource {
  static constexpr int none = std::numeric_limits<int>::max();
  int nan = none, infinite = none;

  void add(const NotFiniteSource& other) {
    nan = std::min(nan, other.nan);
    infinite = std::min(infinite, other.infinite);
  }
};
using NotFiniteSources = std::vector<NotFiniteSource>;

/// For each element of result `index` of the node, whose operands are these, its source. `again`
/// computes the node of other operands.
NotFiniteSources sources_of(const Node& node, int index, const Arrays& operands,
                            const Array& result, const std::function<Arrays(const Arrays&)>& again);

}  // namespace graphc::core::evaluation
