// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/cuda/emulator/access.h"
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

/// The words of four matrices: eight rows of 16 bytes, whose addresses eight lanes have.
using MatrixWords = std::array<std::array<std::array<uint32_t, 4>, 8>, 4>;

MatrixWords matrix_words(Warp& warp, const Instruction& i) {
  const uint32_t* address = warp.slot<uint32_t>(i.b);
  MatrixWords words{};
  for (uint32_t lane = 0; lane < lanes_of_warp; ++lane) {
    if (address[lane] % 16 != 0 || uint64_t{address[lane]} + 16 > warp.block->shared.size)
      lane_error(warp, i, lane,
                 fmt::format("a row of a matrix at byte {:#x} of shared memory, wanted a multiple "
                             "of 16 below {}",
                             address[lane], warp.block->shared.size));
    for (uint32_t word = 0; word < 4; ++word)
      words[lane / 8][lane % 8][word] =
          read_value<uint32_t>(warp, i, lane, warp.block->shared.begin + address[lane] + 4 * word);
  }
  return words;
}

}  // namespace

void load_matrices(Warp& warp, const Instruction& i, uint32_t) {
  const MatrixWords words = matrix_words(warp, i);
  for (uint32_t matrix = 0; matrix < 4; ++matrix) {
    uint32_t* result = warp.slot<uint32_t>(i.result + matrix * register_bytes);
    for (uint32_t lane = 0; lane < lanes_of_warp; ++lane)
      result[lane] = words[matrix][lane / 4][lane % 4];
  }
}

void load_matrices_transposed(Warp& warp, const Instruction& i, uint32_t) {
  const MatrixWords words = matrix_words(warp, i);
  for (uint32_t matrix = 0; matrix < 4; ++matrix) {
    uint32_t* result = warp.slot<uint32_t>(i.result + matrix * register_bytes);
    const auto number = [&](uint32_t row, uint32_t column) {
      return words[matrix][row][column / 2] >> (column % 2 * 16) & 0xffffu;
    };
    for (uint32_t lane = 0; lane < lanes_of_warp; ++lane) {
      const uint32_t row = lane % 4 * 2, column = lane / 4;
      result[lane] = number(row + 1, column) << 16 | number(row, column);
    }
  }
}

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
