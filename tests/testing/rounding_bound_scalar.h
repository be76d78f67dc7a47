// SPDX-License-Identifier: Apache-2.0
// Errors of elementwise arithmetic; see rounding_bound.h.
#pragma once

#include <limits>

#include "ir/build.h"
#include "ir/scalar.h"

namespace graphc::core::testing {

/// A value of a graph and how far a target's may be from it: an f32 value of a shape that
/// broadcasts to its own, or absent where the target's is the same. Of a bool the error is 1 where
/// it may be the other one.
struct Bounded {
  Value value, error;
};

/// Unit roundoff of f32.
inline constexpr double kUnitRoundoff = 0x1p-24;

/// An error that can be anything.
inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// The larger error of two, their sum; either may be absent.
Value larger_error(Value a, Value b);
Value sum_of_errors(Value a, Value b);

/// The smallest normal number of f32: what is below it a target may take for 0, as an operand and
/// as a result.
inline constexpr double kSmallestNormal = 0x1p-126;

/// Whether f32 holds the number, on every target.
bool is_held(double number);

/// `error`, and `units` roundings of `value`, which may be `flushes` results taken for 0.
Value rounded(Value value, Value error, double units, double flushes = 1);

/// The result of an elementwise node for the operands, computed in the graph `to`.
Bounded run_elementwise(const Node& node, const std::vector<Bounded>& operands, Graph& to);

}  // namespace graphc::core::testing
