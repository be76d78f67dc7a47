// SPDX-License-Identifier: Apache-2.0
// How far floats are from what they should be.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace graphc::core::cpu {

/// The distance of `found` from `wanted` in units of the last place of a float near `wanted`.
/// Infinity counts as 2^128, so that rounding up to it is an error of its size.
inline double ulps(float found, double wanted) {
  if (std::isnan(wanted) || std::isnan(found)) {
    return std::isnan(wanted) == std::isnan(found) ? 0 : std::numeric_limits<double>::infinity();
  }
  const double a = std::clamp(double(found), -0x1p128, 0x1p128);
  const double b = std::clamp(wanted, -0x1p128, 0x1p128);
  if (a == b) return 0;
  const int biased = int((std::bit_cast<uint64_t>(b) >> 52) & 0x7ff);
  const int exponent = std::clamp(biased - 1023, -126, 127) - 23;
  return std::abs(a - b) * std::bit_cast<double>(uint64_t(1023 - exponent) << 52);
}

/// The largest error so far.
struct Worst {
  double error = 0;
  float at = 0;
  void see(double ulp, float x) {
    if (ulp > error) error = ulp, at = x;
  }
};

}  // namespace graphc::core::cpu
