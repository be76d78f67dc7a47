// SPDX-License-Identifier: Apache-2.0
// The numbers that the generators of golden files draw, and how they store large arrays
// (tests/golden/drawn.py).
#pragma once

#include <cstdint>
#include <vector>

#include "ir/literal.h"

namespace graphc::core::testing {

/// Knuth's MMIX generator; a number is the upper ten bits of its state. The first four are left
/// out.
class GoldenNumbers {
 public:
  explicit GoldenNumbers(uint64_t seed) : state_(seed) {
    for (int i = 0; i < 4; ++i) bits();
  }

  int64_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return int64_t(state_ >> 54);
  }

  /// A multiple of 2^-9 in [-1, 1).
  double fraction() { return double(bits() - 512) / 512; }

 private:
  uint64_t state_;
};

/// An array of more than kGoldenWhole elements is stored as its products with kGoldenDirections
/// directions.
inline constexpr int64_t kGoldenWhole = 600;
inline constexpr int kGoldenDirections = 8;

/// The products of an array's elements with the directions drawn from `seed`.
inline std::vector<double> golden_products(const Literal& array, uint64_t seed) {
  GoldenNumbers numbers(seed);
  std::vector<double> products(kGoldenDirections);
  for (double& product : products) {
    for (int64_t i = 0; i < array.elements(); ++i) product += array.element(i) * numbers.fraction();
  }
  return products;
}

}  // namespace graphc::core::testing
