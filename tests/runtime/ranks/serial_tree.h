// SPDX-License-Identifier: Apache-2.0
// The sum over ranks as its definition has it, and values whose sum depends on the order.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ir/stored.h"

namespace graphc::core::testing {

/// In what sums are computed.
template <typename Number>
using Wide = std::conditional_t<std::is_same_v<Number, BFloat16>, float, Number>;

/// A value of a rank: of any size between 2^-20 and 2^20, of either sign.
template <typename Number>
Number value_of(int rank, size_t index) {
  uint64_t bits = (uint64_t(rank) + 1) * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 30)) * 0x94d049bb133111ebu;
  bits ^= bits >> 31;
  const double size = std::ldexp(1 + double(bits >> 32) * 0x1p-32, int(bits % 41) - 20);
  const double value = (bits & 64) != 0 ? -size : size;
  return Number(Wide<Number>(value));
}

/// The sum of ranks [begin, end): the largest power of two below their number, and the rest.
template <typename Number>
Wide<Number> serial_tree(size_t index, int begin, int end) {
  if (end - begin == 1) return Wide<Number>(value_of<Number>(begin, index));
  int half = 1;
  while (2 * half < end - begin) half *= 2;
  const Wide<Number> left = serial_tree<Number>(index, begin, begin + half);
  return left + serial_tree<Number>(index, begin + half, end);
}

template <typename Number>
std::vector<Number> values_of(int rank, size_t size) {
  std::vector<Number> values;
  for (size_t i = 0; i < size; ++i) values.push_back(value_of<Number>(rank, i));
  return values;
}

template <typename Number>
std::vector<Number> sums_of(int ranks, size_t size) {
  std::vector<Number> sums;
  for (size_t i = 0; i < size; ++i) sums.push_back(Number(serial_tree<Number>(i, 0, ranks)));
  return sums;
}

}  // namespace graphc::core::testing
