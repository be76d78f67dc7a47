// SPDX-License-Identifier: Apache-2.0
// A user-defined pass: division by a power of two becomes multiplication, which is faster. No bit
// changes: the reciprocal of a power of two is exact.
#pragma once

#include <cmath>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "passes/pass.h"

using namespace graphc::core;

/// The common value of all elements, if it is a power of two with a normal reciprocal.
inline std::optional<double> power_of_two(Value value) {
  const std::optional<double> number = splat_value(value);
  int exponent = 0;
  if (!number || std::abs(std::frexp(*number, &exponent)) != 0.5 || std::abs(exponent) > 100)
    return std::nullopt;
  return number;
}

/// A new graph: copies every node except those that are replaced.
inline GraphPtr multiply_instead(const GraphPtr& graph) {
  return rewrite(*graph,
                 [](const Node& node, const Values& operands, Graph&) -> std::optional<Values> {
                   if (!node.is(ops::div) || !is_floating(node.types[0].dtype)) return std::nullopt;
                   const auto divisor = power_of_two(operands[1]);
                   if (!divisor) return std::nullopt;
                   return Values{operands[0] * (1 / *divisor)};
                 });
}

inline constinit const Pass reciprocals{
    .name = "reciprocals",
    .summary = "divisions by powers of two become multiplications",
    .options = "",
    // The bodies of loops are graphs, too.
    .run = [](const GraphPtr& graph, const PassOptions&,
              Remarks&) { return multiply_instead(rewrite_regions(graph, multiply_instead)); },
};
