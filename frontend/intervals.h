// SPDX-License-Identifier: Apache-2.0
// Valid ranges of numeric options, and the error for a value out of range.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "ir/build.h"

namespace graphc::core {

/// From `low` to `high`; contains no NaN.
struct Interval {
  double low = 0, high = std::numeric_limits<double>::infinity();
  bool with_low = true, with_high = false;

  bool has(double number) const;
  /// "[0, 1)".
  std::string text() const;
};

inline constexpr Interval kFinite{.low = -std::numeric_limits<double>::infinity(),
                                  .with_low = false};
inline constexpr Interval kFromZero{};
inline constexpr Interval kAboveZero{.with_low = false};
inline constexpr Interval kFromZeroBelowOne{.high = 1};
inline constexpr Interval kAboveZeroBelowOne{.high = 1, .with_low = false};

/// Throws ErrorKind::input, at `where`, for a number outside the interval: "Plateau: threshold is
/// in [0, 1): found nan".
void expect_in(std::string_view who, std::string_view option, double number,
               const Interval& interval, Where where);
/// The same for an operand that is a number; values are not checked.
void expect_in(std::string_view who, std::string_view option, const Operand& number,
               const Interval& interval, Where where);

}  // namespace graphc::core
