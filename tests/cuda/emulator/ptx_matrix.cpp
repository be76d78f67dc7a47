// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/cuda/emulator/lanes.h"
#include "tests/cuda/emulator/ptx.h"

namespace graphc::core::cuda_emulator {
namespace {

constexpr int rows = 16, columns = 8;

/// A tf32 is the upper 19 bits of its register; the others do not count.
double tf32_value(uint32_t bits) { return double(std::bit_cast<float>(bits & 0xffffe000u)); }

double bf16_value(uint32_t bits) { return double(std::bit_cast<float>(bits << 16)); }

double f16_value(uint32_t bits) {
  const double sign = bits & 0x8000u ? -1 : 1;
  const int exponent = int(bits >> 10 & 31u);
  const double digits = double(bits & 1023u);
  if (exponent == 31)
    return digits != 0 ? std::numeric_limits<double>::quiet_NaN()
                       : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * digits * 0x1p-24;
  return sign * std::ldexp(1024 + digits, exponent - 25);
}

/// An f32 that is no farther from zero.
float cut_off(double value) {
  const float nearest = float(value);
  if (!(std::abs(double(nearest)) > std::abs(value))) return nearest;
  if (std::isinf(nearest) && std::abs(value) >= 0x1p128) return nearest;
  return std::nextafter(nearest, 0.0f);
}

/// 2^exponent of a normal double.
double power_of_two(int exponent) { return std::bit_cast<double>(uint64_t(exponent + 1023) << 52); }

/// The sum of `count` products and what was summed before, as tensor cores round it.
float sum_of(float before, const double* a, const double* b, int count) {
  std::array<double, 9> terms{};
  terms[0] = double(before);
  double plain = terms[0], largest = std::abs(terms[0]);
  for (int k = 0; k < count; ++k) {
    const double term = terms[size_t(k) + 1] = a[k] * b[k];
    plain += term;
    largest = std::max(largest, std::abs(term));
  }
  if (!std::isfinite(plain)) return float(plain);
  if (largest == 0) return 0;
  const int exponent = int(std::bit_cast<uint64_t>(largest) >> 52) - 1023;
  const double unit = power_of_two(exponent - 23), per_unit = power_of_two(23 - exponent);
  double sum = 0;
  for (const double term : terms) sum += std::trunc(term * per_unit);
  return cut_off(sum * unit);
}

/// Where the elements of fragments lie, as the PTX ISA says it: a lane is one of four in one of
/// eight groups, and holds `pack` elements in each register.
template <int terms, int pack, auto value>
void multiply(Warp& warp, const Instruction& i) {
  constexpr int half = terms / 2;
  static_assert(half == 4 * pack);
  double a[rows][terms], b[columns][terms];
  const auto source = [&](int number) {
    return warp.slot<uint32_t>(i.b + uint32_t(number) * register_bytes);
  };
  const auto element = [](uint32_t bits, int which) {
    return pack == 1 ? value(bits) : value(which == 0 ? bits & 0xffffu : bits >> 16);
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane >> 2, in_group = lane & 3;
    for (int which = 0; which < pack; ++which) {
      const int term = in_group * pack + which;
      a[group][term] = element(source(0)[lane], which);
      a[group + 8][term] = element(source(1)[lane], which);
      a[group][term + half] = element(source(2)[lane], which);
      a[group + 8][term + half] = element(source(3)[lane], which);
      b[group][term] = element(source(4)[lane], which);
      b[group][term + half] = element(source(5)[lane], which);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int which = 0; which < 4; ++which) {
      const int row = (lane >> 2) + (which >> 1) * 8, column = (lane & 3) * 2 + (which & 1);
      float sum = std::bit_cast<float>(source(6 + which)[lane]);
      for (int k = 0; k < terms; k += half) sum = sum_of(sum, a[row] + k, b[column] + k, half);
      warp.slot<float>(i.result + uint32_t(which) * register_bytes)[lane] = sum;
    }
  }
}

}  // namespace

void multiply_tf32(Warp& warp, const Instruction& i, uint32_t) {
  multiply<8, 1, tf32_value>(warp, i);
}
void multiply_bf16(Warp& warp, const Instruction& i, uint32_t) {
  multiply<16, 2, bf16_value>(warp, i);
}
void multiply_f16(Warp& warp, const Instruction& i, uint32_t) {
  multiply<16, 2, f16_value>(warp, i);
}

}  // namespace graphc::core::cuda_emulator
