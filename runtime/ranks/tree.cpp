// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/tree.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>

#include "ir/denormals.h"

namespace graphc::core {
namespace {

/// Elements that are summed over all parts before the next: all of a tree's rows fit into a
/// first-level cache.
constexpr size_t kBlock = 512;

template <typename Number, typename Sum>
void sum_block(std::span<const Number* const> parts, size_t begin, size_t size, Sum* sum) {
  if (parts.size() == 1) {
    const Number* only = parts[0] + begin;
    if constexpr (std::is_same_v<Number, Sum>) {
      if (only == sum) return;
    }
    for (size_t i = 0; i < size; ++i) sum[i] = Sum(only[i]);
    return;
  }
  if (parts.size() == 2) {
    const Number *left = parts[0] + begin, *right = parts[1] + begin;
    for (size_t i = 0; i < size; ++i) sum[i] = Sum(left[i]) + Sum(right[i]);
    return;
  }
  const size_t half = std::bit_floor(parts.size() - 1);
  // The right side first: `sum` may be a part of it.
  Sum right[kBlock];
  sum_block(parts.subspan(half), begin, size, right);
  sum_block(parts.first(half), begin, size, sum);
  for (size_t i = 0; i < size; ++i) sum[i] += right[i];
}

template <typename Number>
void sum_all(std::span<const Number* const> parts, std::span<Number> sum) {
  if (parts.empty()) return;
  const DenormalsFlushed flushed;
  for (size_t begin = 0; begin < sum.size(); begin += kBlock)
    sum_block(parts, begin, std::min(kBlock, sum.size() - begin), sum.data() + begin);
}

template <typename Number>
void sum_and_round(std::span<const Number* const> parts, std::span<BFloat16> sum) {
  if (parts.empty()) return;
  const DenormalsFlushed flushed;
  for (size_t begin = 0; begin < sum.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, sum.size() - begin);
    float wide[kBlock];
    sum_block(parts, begin, size, wide);
    for (size_t i = 0; i < size; ++i) sum[begin + i] = BFloat16(wide[i]);
  }
}

}  // namespace

void sum_parts(std::span<const float* const> parts, std::span<float> sum) { sum_all(parts, sum); }

void sum_parts(std::span<const double* const> parts, std::span<double> sum) { sum_all(parts, sum); }

void sum_parts(std::span<const BFloat16* const> parts, std::span<BFloat16> sum) {
  sum_and_round(parts, sum);
}

void sum_parts(std::span<const float* const> parts, std::span<BFloat16> sum) {
  sum_and_round(parts, sum);
}

void widen(std::span<const BFloat16> from, float* to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = from[i];
}

}  // namespace graphc::core
