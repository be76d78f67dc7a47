// SPDX-License-Identifier: Apache-2.0
// Error bounds of elementwise arithmetic; see rounding_bound.h.
#pragma once

#include <limits>

#include "ir/build.h"
#include "ir/scalar.h"

namespace graphc::core::testing {

/// A value of a graph and a bound on a target's error: an f32 value of a shape that broadcasts to
/// its own, or absent if the target is exact. The error of a bool is 1 if it may be flipped.
struct Bounded {
  Value value, error;
};

/// Unit roundoff of f32.
inline constexpr double kUnitRoundoff = 0x1p-24;

/// An unbounded error.
inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// The larger of two errors, their sum; either may be absent.
Value larger_error(Value a, Value b);
Value sum_of_errors(Value a, Value b);

/// The smallest normal number of f32: a target may flush smaller operands and results to 0.
inline constexpr double kSmallestNormal = 0x1p-126;

/// Whether f32 represents the number exactly, on every target.
bool is_held(double number);

/// `error` plus `units` roundings of `value`, computed from up to `flushes` results that may be
/// flushed to 0.
Value rounded(Value value, Value error, double units, double flushes = 1);

/// The result of an elementwise node for these operands, computed in the graph `to`.
Bounded run_elementwise(const Node& node, const std::vector<Bounded>& operands, Graph& to);

}  // namespace graphc::core::testing
