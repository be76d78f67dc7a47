// SPDX-License-Identifier: Apache-2.0
// Factors as sums of several bf16: what the parts are, how exact products of them are, and that
// what is not finite, or larger than the largest bf16, is what products of f32 have.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "codegen/target.h"
#include "codegen/walk/tile_pack.h"
#include "ir/text.h"
#include "tests/codegen/precision_trial.h"

namespace graphc::core::testing {
namespace {

using cpu::TileOrder;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

/// Numbers of many magnitudes whose smallest parts are normal numbers, and special ones.
std::vector<float> drawn_tile(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  const float special[] = {0.0f, -0.0f, 1.0f, kLargest, -kLargest, 3.39e38f, 1 + 0x1p-23f};
  std::vector<float> numbers(count);
  for (float& x : numbers) {
    x = std::ldexp(std::normal_distribution<float>()(random), int(random() % 80) - 40);
    if (random() % 9 == 0) x = special[random() % std::size(special)];
  }
  return numbers;
}

/// Part `part` of numbers, which are 16 items of 32 terms.
std::vector<float> part_of(const std::vector<float>& numbers, int part, int parts,
                           decltype(cpu::pack_tiles)* pack) {
  std::vector<char> tiles(size_t(parts * kTileBytes));
  const cpu::TileSource source{reinterpret_cast<const char*>(numbers.data()), kTileK * 4, 4,
                               kTileRows, kTileK};
  pack(source, TileOrder::items_first, {tiles.data(), 0, 0, kTileBytes, parts});
  std::vector<float> found;
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, tiles.data() + part * kTileBytes + int(i) * 2, sizeof bits);
    found.push_back(std::bit_cast<float>(uint32_t(bits) << 16));
  }
  return found;
}

TEST(TilesInPartsCpu, ThreePartsAreTheNumberAndTwoNearlyIt) {
  const std::vector<float> numbers = drawn_tile(kTileRows * kTileK, 1);
  for (const auto pack : {cpu::pack_tiles, cpu::pack_tiles_portably}) {
    for (const int parts : {2, 3}) {
      std::vector<std::vector<float>> found;
      for (int part = 0; part < parts; ++part) found.push_back(part_of(numbers, part, parts, pack));
      for (size_t i = 0; i < numbers.size(); ++i) {
        double sum = 0;
        for (const std::vector<float>& part : found) sum += double(part[i]);
        const double allowed = parts == 3 ? 0 : 0x1p-16 * std::abs(double(numbers[i]));
        EXPECT_LE(std::abs(sum - double(numbers[i])), allowed) << numbers[i];
        EXPECT_LE(std::abs(found[1][i]), 0x1p-7f * std::abs(found[0][i])) << numbers[i];
      }
    }
  }
}

TEST(TilesInPartsCpu, WhatIsNotFiniteHasOnePart) {
  std::vector<float> numbers(kTileRows * kTileK, 1.0f);
  numbers[0] = kInfinity;
  numbers[1] = -kInfinity;
  numbers[2] = std::nanf("1");
  numbers[3] = std::bit_cast<float>(0x7f800001);  // nothing of it is in the first 16 bits
  for (const auto pack : {cpu::pack_tiles, cpu::pack_tiles_portably}) {
    const std::vector<float> first = part_of(numbers, 0, 3, pack);
    EXPECT_EQ(first[0], kInfinity);
    EXPECT_EQ(first[1], -kInfinity);
    EXPECT_TRUE(std::isnan(first[2]) && std::isnan(first[3]));
    for (const int part : {1, 2}) {
      for (size_t i = 0; i < 4; ++i) EXPECT_EQ(part_of(numbers, part, 3, pack)[i], 0) << i;
    }
  }
}

std::vector<float> results_of(const GraphPtr& graph, const std::vector<Literal>& given,
                              Precision precision) {
  CompileReport report;
  CompileOptions options;
  options.precision = precision;
  if (precision != Precision::f32) options.architecture = "native+tiles";
  options.threads = 1;
  const auto executable = compile(graph, targets::cpu, options, report);
  const std::vector<Tensor> inputs(given.begin(), given.end());
  std::vector<Tensor> outputs{Tensor(executable->signature().outputs[0].type)};
  executable->run(inputs, outputs);
  const Literal literal = outputs[0].copy();
  return {literal.data<float>().begin(), literal.data<float>().end()};
}

GraphPtr product(int m, int k, int n) {
  return parse_graph(fmt::format(
      "graph @p(%a: f32[{0},{1}], %b: f32[{1},{2}]) {{\n  return matmul(%a, %b)\n}}", m, k, n));
}

/// The largest error of a product of [m, k] by [k, n], relative to the sum of the terms'
/// magnitudes.
double largest_error(const std::vector<float>& found, const std::vector<Literal>& given, int k) {
  const auto a = given[0].data<float>(), b = given[1].data<float>();
  const size_t terms = size_t(k), n = b.size() / terms;
  double largest = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    double sum = 0, magnitude = 0;
    for (size_t t = 0; t < terms; ++t) {
      const double term = double(a[i / n * terms + t]) * double(b[t * n + i % n]);
      sum += term;
      magnitude += std::abs(term);
    }
    largest = std::max(largest, std::abs(double(found[i]) - sum) / magnitude);
  }
  return largest;
}

TEST(TilesInPartsCpu, SixProductsAreAsExactAsOneSumOfMultiplyAdds) {
  for (const int k : {32, 100, 500, 2100}) {
    const GraphPtr graph = product(17, k, 33);
    const std::vector<Literal> given = drawn_inputs(*graph, unsigned(k), 1, false);
    const double f32 = largest_error(results_of(graph, given, Precision::f32), given, k);
    const double six = largest_error(results_of(graph, given, Precision::bf16x6), given, k);
    const double three = largest_error(results_of(graph, given, Precision::bf16x3), given, k);
    const double one = largest_error(results_of(graph, given, Precision::bf16), given, k);
    EXPECT_LE(six, f32) << k;
    EXPECT_LE(three, 0x1.8p-15) << k;
    EXPECT_LT(16 * three, one) << k;
    EXPECT_LT(4 * six, three) << "parts are missing: " << k;
  }
}

/// Whether both are the same but for rounding: no number, the same infinity, or near; of coarse
/// rounding a number near the largest may stand for infinity.
bool alike(float found, float wanted, double near) {
  if (std::isnan(wanted)) return std::isnan(found);
  const bool coarse = near > 0x1p-20;
  if (std::isinf(wanted) && coarse && std::isfinite(found))
    return std::signbit(found) == std::signbit(wanted) &&
           std::abs(double(found)) >= (1 - near) * double(kLargest);
  if (std::isinf(wanted)) return found == wanted;
  return std::abs(double(found) - double(wanted)) <= near * std::abs(double(wanted));
}

TEST(TilesInPartsCpu, SumsOverflowWhereAllTermsDo) {
  // Terms of the first and of the last piece of k, beside zeros, times one.
  struct Case {
    float first, last;
    float wanted;
  };
  for (const Case& c : {Case{1.5e38f, -2e38f, -1e38f}, Case{kInfinity, -2e38f, kInfinity},
                        Case{-kInfinity, 2e38f, -kInfinity}, Case{-1.5e38f, 2e38f, 1e38f}}) {
    for (const int k : {129, 600, 1500}) {
      SCOPED_TRACE(fmt::format("{} {} {}", c.first, c.last, k));
      const GraphPtr graph = product(1, k, 3);
      std::vector<Literal> given{Literal(Type{DType::f32, {1, k}}),
                                 Literal(Type{DType::f32, {k, 3}})};
      const auto a = given[0].mutable_data<float>(), b = given[1].mutable_data<float>();
      std::ranges::fill(a, 0.0f);
      std::ranges::fill(b, 1.0f);
      a[0] = a[1] = c.first;
      a[size_t(k) - 1] = a[size_t(k) - 2] = c.last;
      for (const auto& [precision, near] :
           {std::pair{Precision::bf16x3, 0x1p-13}, {Precision::bf16x6, 0x1p-20}}) {
        for (const float found : results_of(graph, given, precision))
          EXPECT_TRUE(alike(found, c.wanted, near)) << name_of(precision) << ": " << found;
      }
    }
  }
}

TEST(TilesInPartsCpu, TheLargestNumberTimesOneIsFinite) {
  const GraphPtr graph = product(2, 1, 2);
  std::vector<Literal> given{Literal(Type{DType::f32, {2, 1}}), Literal(Type{DType::f32, {1, 2}})};
  const auto a = given[0].mutable_data<float>(), b = given[1].mutable_data<float>();
  a[0] = kLargest;
  a[1] = -kLargest;
  b[0] = 1;
  b[1] = -0.5f;
  for (const auto& [precision, near] :
       {std::pair{Precision::bf16x3, 0x1p-15}, {Precision::bf16x6, 0x1p-23}}) {
    const std::vector<float> found = results_of(graph, given, precision);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(alike(found[i], a[i / 2] * b[i % 2], near))
          << name_of(precision) << ": " << found[i];
  }
}

TEST(TilesInPartsCpu, WhatIsNotFiniteIsWhatItIsInF32) {
  // By columns of a: each special number beside ones, times numbers of one, two and three parts and
  // 0 in the rows of b. Every tile of a block, in one piece of k and in several.
  const std::vector<float> special{kInfinity, -kInfinity, std::nanf(""), kLargest,
                                   -kLargest, 3.395e38f,  1e-38f,        0};
  const std::vector<float> others{2.0f, -1.5f, 1 + 0x1p-10f, 1 + 0x1p-20f, 0.0f, -0.5f, 1e-3f};
  for (const int k : {33, 1100}) {
    const int m = 40, n = 40;
    const GraphPtr graph = product(m, k, n);
    std::vector<Literal> given{Literal(Type{DType::f32, {m, k}}),
                               Literal(Type{DType::f32, {k, n}})};
    const auto a = given[0].mutable_data<float>(), b = given[1].mutable_data<float>();
    for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 3);
    for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 5) * 0x1p-12f;
    for (size_t i = 0; i < size_t(m); i += 3) {
      const size_t term = (7 * i) % size_t(k);
      a[i * size_t(k) + term] = special[i % special.size()];
      for (size_t j = 0; j < size_t(n); ++j) b[term * size_t(n) + j] = others[j % others.size()];
    }
    const std::vector<float> wanted = results_of(graph, given, Precision::f32);
    EXPECT_TRUE(std::ranges::any_of(wanted, [](float x) { return x == kInfinity; }));
    for (const auto& [precision, near] :
         {std::pair{Precision::bf16x3, 0x1p-14}, {Precision::bf16x6, 0x1p-20}}) {
      const std::vector<float> found = results_of(graph, given, precision);
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_TRUE(alike(found[i], wanted[i], near))
            << name_of(precision) << " at " << i << ": " << found[i] << " for " << wanted[i];
    }
  }
}

TEST(TilesInPartsCpu, PartialSumsThatOverflowAreSummedInOrder) {
  // The largest parts of 3e38 and -3e38 in one tile, and finite sums beside them.
  const GraphPtr graph = product(16, 64, 16);
  std::vector<Literal> given{Literal(Type{DType::f32, {16, 64}}),
                             Literal(Type{DType::f32, {64, 16}})};
  for (Literal& literal : given) {
    for (float& x : literal.mutable_data<float>()) x = 0;
  }
  for (size_t i = 0; i < 16; ++i) {
    // In the order of terms: 3e38, 0, 3e38. Even terms have a sum of their own in a tile.
    given[0].mutable_data<float>()[i * 64] = 3e38f;
    given[0].mutable_data<float>()[i * 64 + 1] = -3e38f;
    given[0].mutable_data<float>()[i * 64 + 2] = 3e38f;
    for (size_t term = 0; term < 3; ++term) given[1].mutable_data<float>()[term * 16 + i] = 1;
  }
  for (const Precision precision : {Precision::f32, Precision::bf16x3, Precision::bf16x6}) {
    for (const float x : results_of(graph, given, precision))
      EXPECT_TRUE(alike(x, 3e38f, 0x1p-14)) << name_of(precision) << ": " << x;
  }
}

}  // namespace
}  // namespace graphc::core::testing
