// SPDX-License-Identifier: Apache-2.0
// Numbers on both sides of the smallest normal one: compiled steps flush them, in every thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <random>

#include "codegen/targets/cpu/cpu_features.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/codegen/cpu/compiled.h"
#include "tests/testing/op_cases.h"
#include "tests/testing/rounding_bound.h"
#include "tests/testing/samples.h"

namespace graphc::core {
namespace {

using testing::Compiled;
using Literals = std::vector<Literal>;

std::vector<std::string> cpu_names() {
  std::vector<std::string> names;
  for (const cpu::CpuFeatures& cpu : cpu::cpus_of()) names.push_back(cpu.name);
  return names;
}

template <typename T>
Literal literal(const std::vector<T>& numbers) {
  return Literal(std::span<const T>(numbers), {int64_t(numbers.size())});
}

template <typename T>
T flushed(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(T(0), x) : x;
}

template <typename T>
int64_t denormals_in(const Literal& value) {
  return std::ranges::count_if(value.data<T>(),
                               [](T x) { return std::fpclassify(x) == FP_SUBNORMAL; });
}

/// Every pair of numbers around the smallest normal one, and far from it.
template <typename T>
std::pair<std::vector<T>, std::vector<T>> pairs() {
  using Limits = std::numeric_limits<T>;
  const T least = Limits::min(), root = std::sqrt(least);
  std::vector<T> numbers;
  for (T size : {T(0), Limits::denorm_min(), least / 2, std::nextafter(least, T(0)), least,
                 std::nextafter(least, T(1)), least * T(1.5), root / 2, root, root * 3, T(0.5),
                 T(1), T(3), 1 / root, T(0.25) / least}) {
    numbers.push_back(size);
    numbers.push_back(-size);
  }
  std::pair<std::vector<T>, std::vector<T>> all;
  for (T x : numbers) {
    for (T y : numbers) {
      all.first.push_back(x);
      all.second.push_back(y);
    }
  }
  return all;
}

/// `wanted` is rounded where numbers may be denormal.
template <typename T>
void expect_flushed(T found, T wanted, const std::string& what) {
  if (std::isnan(wanted) && std::isnan(found)) return;
  // Processors round to as many digits as normal numbers have before they look whether it is one:
  // what then is below the least of these may have been rounded to it here.
  const bool either = std::abs(wanted) == std::numeric_limits<T>::min() && found == 0;
  EXPECT_TRUE(found == flushed(wanted) || either)
      << what << " is " << found << ", wanted " << wanted;
}

template <typename T>
void check_arithmetic(std::string_view type) {
  const auto [x, y] = pairs<T>();
  const GraphPtr graph = parse_graph(fmt::format(
      "graph @f(%x: {0}[{1}], %y: {0}[{1}]) {{\n"
      "  return add(%x, %y), sub(%x, %y), mul(%x, %y), div(%x, %y), sqrt(abs(%x)), less(%x, %y), "
      "equal(%x, %y), cast(%x) {{dtype = bool}}, maximum(%x, %y), minimum(%x, %y), neg(%x)\n}}",
      type, x.size()));
  for (const std::string& cpu : cpu_names()) {
    const Literals found = Compiled(graph, 2, cpu).run({literal(x), literal(y)});
    for (size_t i = 0; i < x.size(); ++i) {
      const auto at = [&](size_t result) { return found[result].data<T>()[i]; };
      const auto holds = [&](size_t result) { return found[result].element(int64_t(i)) != 0; };
      const std::string what = fmt::format("of {} and {} on {}", x[i], y[i], cpu);
      const T a = flushed(x[i]), b = flushed(y[i]);
      expect_flushed<T>(at(0), a + b, "sum " + what);
      expect_flushed<T>(at(1), a - b, "difference " + what);
      expect_flushed<T>(at(2), a * b, "product " + what);
      expect_flushed<T>(at(3), a / b, "quotient " + what);
      expect_flushed<T>(at(4), std::sqrt(std::abs(a)), "root " + what);
      EXPECT_EQ(holds(5), a < b) << what;
      EXPECT_EQ(holds(6), a == b) << what;
      EXPECT_EQ(holds(7), a != 0) << what;
      EXPECT_EQ(flushed(at(8)), std::max(a, b)) << what;
      EXPECT_EQ(flushed(at(9)), std::min(a, b)) << what;
      EXPECT_EQ(flushed(at(10)), -a) << what;
    }
    for (size_t result = 0; result < 5; ++result) EXPECT_EQ(denormals_in<T>(found[result]), 0);
  }
}

TEST(DenormalsCpu, ArithmeticReadsAndGivesZeros) {
  check_arithmetic<float>("f32");
  check_arithmetic<double>("f64");
}

TEST(DenormalsCpu, FunctionsTakeThemForZeros) {
  const float least = FLT_MIN;
  const std::vector<float> x{1e-45f, -1e-45f, least / 2, -least / 2};
  for (const std::string& cpu : cpu_names()) {
    SCOPED_TRACE(cpu);
    const Literals found =
        Compiled(
            "graph @f(%x: f32[4], %y: f32[4]) { return log(abs(%x)), rsqrt(abs(%x)), exp(%x), "
            "pow(%x, %y), floor(%x), exp(mul(%y, -88.)), sigmoid(mul(%y, -88.)) }",
            1, cpu)
            .run({literal(x), literal(std::vector<float>{1, 1, 1, 1})});
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(found[0].element(i), -HUGE_VAL);
      EXPECT_EQ(found[1].element(i), HUGE_VAL);
      EXPECT_EQ(found[2].element(i), 1);
      EXPECT_EQ(found[3].element(i), 0);
      EXPECT_EQ(found[4].element(i), 0);  // of those below 0 too
      EXPECT_EQ(found[5].element(i), 0);  // 6e-39
      EXPECT_EQ(found[6].element(i), 0);
    }
  }
}

TEST(DenormalsCpu, SumsAndProductsOfThemAreZero) {
  // In exact arithmetic the products are 1e-40, and their sum 1e-38 is no denormal.
  const Literal small = Literal::filled({DType::f32, {16, 200}}, 1e-20);
  const Literal tiny = Literal::filled({DType::f32, {16, 200}}, 1e-39);
  const Literal rows = literal(std::vector<int32_t>(16, 0));
  for (const std::string& cpu : cpu_names()) {
    const Literals found = Compiled(R"(
          graph @f(%x: f32[16,200], %tiny: f32[16,200], %table: f32[3,200], %rows: i32[16]) {
            return matmul(%x, %x) {transpose_b = true}, sum(mul(%x, %x)) {axes = [1]},
              sum(%tiny) {axes = [0]}, sum(%tiny) {axes = [1]}, cumsum(%tiny) {axis = 1},
              scatter_add(%table, %rows, %tiny)
          })",
                                    2, cpu)
                               .run({small, tiny, Literal::zeros({DType::f32, {3, 200}}), rows});
    for (const Literal& result : found) {
      for (int64_t i = 0; i < result.elements(); ++i) ASSERT_EQ(result.element(i), 0) << cpu;
    }
  }
}

TEST(DenormalsCpu, WhatMovesKeepsItsBits) {
  std::vector<float> x;
  for (uint32_t i = 0; i < 96; ++i) x.push_back(std::bit_cast<float>(i * 0x15555 | i << 31));
  const Literal numbers = literal(x);
  const Literal matrix = Literal::from_bytes({DType::f32, {8, 12}}, numbers.bytes());
  const Literals found = Compiled(R"(
        graph @f(%x: f32[8,12], %i: i32[3]) {
          %t = transpose(%x) {permutation = [1, 0]}
          %first, %second = split(%x) {axis = 1, parts = 2}
          return transpose(%t) {permutation = [1, 0]}, concat(%first, %second) {axis = 1},
            reverse(reverse(%x) {axes = [0]}) {axes = [0]}, gather(%x, %i),
            select(less(%x, 1.), %x, 2.)
        })",
                                  2)
                             .run({matrix, literal(std::vector<int32_t>{0, 1, 2})});
  EXPECT_GT(denormals_in<float>(matrix), 20);
  for (size_t i : std::array<size_t, 4>{0, 1, 2, 4}) EXPECT_EQ(found[i], matrix) << i;
  EXPECT_TRUE(std::ranges::equal(found[3].bytes(), matrix.bytes().first(3 * 12 * 4)));
}

/// Numbers around the smallest normal one in place of the floats of random arguments.
Literals small_arguments(const testing::OpCase& c, unsigned seed) {
  constexpr float kSizes[] = {0, 1e-45f, 4e-39f, FLT_MIN, 1e-37f, 1e-20f, 0.5f, 1, 2.5f};
  std::mt19937 random(seed);
  Literals arguments = testing::random_arguments(c, seed, -1, 1);
  for (Literal& argument : arguments) {
    if (argument.dtype() != DType::f32) continue;
    for (float& x : argument.mutable_data<float>())
      x = std::copysign(kSizes[random() % std::size(kSizes)], x);
  }
  return arguments;
}

bool is_of_f32(const testing::OpCase& c) {
  const auto narrow = [](Value x) { return !is_floating(x.dtype()) || x.dtype() == DType::f32; };
  return std::ranges::all_of(c.graph->inputs(), narrow) &&
         std::ranges::all_of(c.graph->results(), narrow);
}

TEST(DenormalsCpu, EveryOpStaysWithinItsBound) {
  int64_t ops = 0, flushed_results = 0;
  unsigned seed = 0;
  size_t of_other_extents = 0;
  const std::vector<std::string> cpus = cpu_names();
  for (const Op* op : testing::sampled_ops()) {
    for (const testing::OpCase& c : testing::op_cases(*op)) {
      if (!is_of_f32(c) || c.index_limit == 0) continue;
      if (!c.as_sampled && !testing::is_sampled(of_other_extents++, 7)) continue;
      SCOPED_TRACE(c.name);
      const Literals arguments = small_arguments(c, ++seed);
      testing::BoundedResults wanted = testing::evaluate_with_bounds(*c.graph, arguments);
      // Bounds know nothing of what is too large for f32.
      for (size_t i = 0; i < wanted.values.size(); ++i) {
        for (int64_t k = 0; k < wanted.values[i].elements(); ++k) {
          if (std::abs(wanted.values[i].element(k)) > double{FLT_MAX})
            wanted.bounds[i].mutable_data<double>()[size_t(k)] = HUGE_VAL;
        }
      }
      const std::string& cpu = cpus[seed % cpus.size()];
      const Literals found = Compiled(c.graph, 1, cpu).run(arguments);
      EXPECT_EQ(testing::beyond_bound(found, wanted), "") << cpu;
      for (size_t i = 0; i < found.size(); ++i) {
        if (found[i].dtype() != DType::f32) continue;
        for (int64_t k = 0; k < found[i].elements(); ++k)
          flushed_results += found[i].element(k) == 0 && wanted.values[i].element(k) != 0;
      }
    }
    ++ops;
  }
  EXPECT_GT(ops, 80);
  EXPECT_GT(flushed_results, 500);
}

TEST(DenormalsCpu, EveryThreadFlushes) {
  const Literal x = Literal::filled({DType::f32, {64, 256}}, FLT_MIN);
  const Literal w = Literal::filled({DType::f32, {256, 32}}, 0x1p-9);
  for (int threads : {1, 2, 3, 4}) {
    const Literals found =
        Compiled(
            "graph @f(%x: f32[64,256], %w: f32[256,32]) { return mul(%x, 0.5), matmul(%x, %w), "
            "tanh(mul(%x, 0.5)) }",
            threads)
            .run({x, w});
    for (const Literal& result : found) {
      for (int64_t i = 0; i < result.elements(); ++i)
        ASSERT_EQ(result.element(i), 0) << threads << " threads, element " << i;
    }
  }
}

/// What made steps of long sequences slow: gradients that fade to the least denormals and stay.
TEST(DenormalsCpu, GradientsThatFadeOverALongSequenceAreZeros) {
  const GraphPtr graph = parse_graph(R"(
    graph @train(%x: f32[2000,2,4], %h0: f32[2,4], %u: f32[4,4]) {
      %h.end = scan %x.t in %x carry %h = %h0 with %u {
        next %h = tanh(add(%x.t, matmul(%h, %u)))
      }
      %loss = sum(square(%h.end)) {axes = [0, 1]}
      %dx, %dh, %du = grad %loss, %x, %h0, %u
      return %loss, %dx, %dh, %du
    })");
  Literals arguments{Literal(Type{DType::f32, {2000, 2, 4}}), Literal(Type{DType::f32, {2, 4}}),
                     Literal(Type{DType::f32, {4, 4}})};
  std::mt19937 random(3);
  for (size_t i = 0; i < 2; ++i) {
    for (float& x : arguments[i].mutable_data<float>())
      x = std::uniform_real_distribution<float>(-0.3f, 0.3f)(random);
  }
  for (size_t i = 0; i < 4; ++i) arguments[2].mutable_data<float>()[i * 5] = 0.75f;
  const GraphPtr meaning = run_pipeline(graph, parse_pipeline("autodiff")).graph;
  const Literals wanted = evaluate(*meaning, arguments, {}, Precision::f32).results;
  EXPECT_GT(denormals_in<float>(wanted[1]), 10000);
  for (int threads : {1, 2}) {
    const Literals found = Compiled(graph, threads).run(arguments);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(denormals_in<float>(found[i]), 0) << "result " << i;
      for (int64_t k = 0; k < found[i].elements(); ++k) {
        const double exact = wanted[i].element(k);
        ASSERT_NEAR(found[i].element(k), exact, 1e-3 * std::abs(exact) + 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace graphc::core
