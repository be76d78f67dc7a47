// SPDX-License-Identifier: Apache-2.0
// Long sums are as exact as short ones: along rows, over rows, and in products, at every CPU level.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codegen/target.h"
#include "ir/text.h"

namespace graphc::core::testing {
namespace {

using Literals = std::vector<Literal>;

Literals run(std::string_view text, const Literals& inputs, const CompileOptions& options) {
  CompileReport report;
  const auto executable = compile(parse_graph(text), targets::cpu, options, report);
  std::vector<Tensor> arguments, outputs;
  for (const Literal& input : inputs) arguments.emplace_back(input);
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(arguments, outputs);
  Literals results;
  for (const Tensor& output : outputs) results.push_back(output.copy());
  return results;
}

TEST(LongSumsCpu, OfAHundredMillionOnes) {
  Literal ones(Type{DType::u8, {50'000'000, 2}});
  for (uint8_t& one : ones.mutable_data<uint8_t>()) one = 1;
  for (const std::string& level : targets::cpu.cpus()) {
    const Literals sums =
        run("graph (%x: u8[50000000,2]) {"
            "  %f = cast(%x) {dtype = f32}"
            "  return sum(%f) {axes = [0,1]}, sum(%f) {axes = [0]},"
            "         sum(reshape(%f) {shape = [100000000]}) {axes = [0]} }",
            {ones}, {.architecture = level, .threads = 2});
    EXPECT_EQ(sums[0].element(0), 1e8) << level;
    EXPECT_EQ(sums[1].element(0), 5e7) << level;
    EXPECT_EQ(sums[1].element(1), 5e7) << level;
    EXPECT_EQ(sums[2].element(0), 1e8) << level;
  }
}

/// Numbers that add up: rounding errors do not cancel.
Literal positive_numbers(const Shape& shape, unsigned seed) {
  Literal made(Type{DType::f32, shape});
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(0.5f, 1.5f);
  for (float& x : made.mutable_data<float>()) x = distribution(random);
  return made;
}

TEST(LongSumsCpu, OfAMillionRowsAreRightToAMillionth) {
  constexpr int64_t rows = 1'000'000;
  const Literal x = positive_numbers({rows, 3}, 1), y = positive_numbers({rows, 2}, 2);
  double columns[3] = {}, products[3][2] = {};
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < 3; ++i) {
      columns[i] += x.element(row * 3 + i);
      for (int64_t j = 0; j < 2; ++j)
        products[i][j] += x.element(row * 3 + i) * y.element(row * 2 + j);
    }
  }
  for (const std::string& level : targets::cpu.cpus()) {
    const Literals sums =
        run("graph (%x: f32[1000000,3], %y: f32[1000000,2]) {"
            "  return sum(%x) {axes = [0]}, matmul(%x, %y) {transpose_a = true} }",
            {x, y}, {.architecture = level, .threads = 2});
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(sums[0].element(i) / columns[i], 1, 1e-6) << level;
      for (int64_t j = 0; j < 2; ++j)
        EXPECT_NEAR(sums[1].element(i * 2 + j) / products[i][j], 1, 1e-6) << level;
    }
  }
}

}  // namespace
}  // namespace graphc::core::testing
