// SPDX-License-Identifier: Apache-2.0
// Every function against double precision: on floats of every exponent, and (slow) on all of them.
#include "codegen/targets/cpu/math/vector_math.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "codegen/targets/cpu/jit/jit.h"
#include "ir/denormals.h"
#include "ir/error.h"
#include "tests/codegen/cpu/ulps.h"
#include "tests/testing/counts.h"
#include "tests/testing/samples.h"

namespace graphc::core::cpu {
namespace {

constexpr double kLimit = 5;  // ulp
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double reference(MathFunction function, double x) {
  switch (function) {
    case MathFunction::exp:
      return std::exp(x);
    case MathFunction::expm1:
      return std::expm1(x);
    case MathFunction::log:
      return std::log(x);
    case MathFunction::log1p:
      return std::log1p(x);
    case MathFunction::tanh:
      return std::tanh(x);
    case MathFunction::sigmoid:
      return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
    case MathFunction::sqrt:
      return std::sqrt(x);
    case MathFunction::rsqrt:
      return 1 / std::sqrt(x);
    case MathFunction::floor:
      return std::floor(x);
    case MathFunction::sin:
      return std::sin(x);
    case MathFunction::cos:
      return std::cos(x);
  }
  return kNan;
}

Worst worst_of(const std::vector<float>& x, const std::vector<float>& y,
               const std::vector<double>& wanted) {
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) worst.see(ulps(y[i], wanted[i]), x[i]);
  return worst;
}

/// The same where denormals are flushed: what should be one may be 0 or the least normal number.
Worst worst_flushed(MathFunction function, const std::vector<float>& x, const std::vector<float>& y,
                    const std::vector<double>& wanted) {
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool zero = std::fpclassify(x[i]) == FP_SUBNORMAL;
    const double value = zero ? reference(function, std::copysign(0.0, x[i])) : wanted[i];
    if (std::abs(value) < FLT_MIN && std::abs(y[i]) <= FLT_MIN) continue;
    worst.see(ulps(y[i], value), x[i]);
  }
  return worst;
}

/// 2^20 floats: 2^11 of each sign and exponent, one at random from each of 2^11 equal parts; with
/// whole samples four times as many.
std::vector<float> stratified() {
  const int bits = testing::whole_samples() ? 13 : 11;
  std::mt19937 random(20240611);
  std::vector<float> x;
  for (uint32_t high = 0; high < 512; ++high) {
    for (uint32_t part = 0; part < 1u << bits; ++part) {
      const uint32_t low = uint32_t(random()) & ((1u << (23 - bits)) - 1);
      x.push_back(std::bit_cast<float>(high << 23 | part << (23 - bits) | low));
    }
  }
  return x;
}

MathLoop compile(Jit& jit, MathFunction function, int lanes) {
  return reinterpret_cast<MathLoop>(
      jit.add(emit_math_loop(jit.cpu(), function, lanes), name_of(function)));
}

std::string case_name(const ::testing::TestParamInfo<MathFunction>& of) {
  return std::string(name_of(of.param));
}

bool same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

/// Exact values of `function`, on every CPU and at every width, odd ones included.
void expect_values(MathFunction function, const std::vector<std::pair<float, float>>& cases) {
  for (const CpuFeatures& cpu : cpus_of()) {
    Jit jit(cpu);
    for (int lanes : {1, 3, 4, 8, 16, 32}) {
      const MathLoop loop = compile(jit, function, lanes);
      for (const auto& [x, wanted] : cases) {
        std::vector<float> values(size_t(lanes), 1.0f);
        values.back() = x;
        loop(values.data(), values.data(), lanes);
        EXPECT_TRUE(same(values.back(), wanted))
            << name_of(function) << "(" << x << ") is " << values.back() << ", wanted " << wanted
            << ": " << cpu.name << ", " << lanes << " lanes";
      }
    }
  }
}

class VectorMathCpu : public ::testing::TestWithParam<MathFunction> {};

TEST_P(VectorMathCpu, IsWithinFiveUlpAtEveryExponent) {
  const MathFunction function = GetParam();
  const std::vector<float> x = stratified();
  ASSERT_GE(x.size(), size_t{1} << 20);
  std::vector<double> wanted;
  for (float each : x) wanted.push_back(reference(function, each));
  std::vector<float> y(x.size());
  for (const CpuFeatures& cpu : cpus_of()) {
    Jit jit(cpu);
    for (int lanes : {4, 8, 16}) {
      const MathLoop loop = compile(jit, function, lanes);
      {
        const DenormalsFlushed flushed;
        loop(x.data(), y.data(), int64_t(x.size()));
      }
      const Worst in_a_step = worst_flushed(function, x, y, wanted);
      EXPECT_LE(in_a_step.error, kLimit) << "at " << in_a_step.at << " without denormals";
      loop(x.data(), y.data(), int64_t(x.size()));
      const Worst worst = worst_of(x, y, wanted);
      EXPECT_LE(worst.error, kLimit) << "at " << worst.at;
      fmt::print("{:8} {:10} {:2} lanes: {:.3f} ulp at {:.9g}\n", name_of(function), cpu.name,
                 lanes, worst.error, worst.at);
      testing::largest(fmt::format("ulp of {}", name_of(function)), worst.error);
      testing::count("floats given to elementary functions", int64_t(x.size()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, VectorMathCpu, ::testing::ValuesIn(all_math_functions()), case_name);

TEST(VectorMathValuesCpu, ExponentialsHaveTheirLimits) {
  const float denormal = std::numeric_limits<float>::denorm_min();
  expect_values(MathFunction::exp, {{0, 1},
                                    {-0.0f, 1},
                                    {denormal, 1},
                                    {-kInf, 0},
                                    {kInf, kInf},
                                    {-1e30f, 0},
                                    {1000, kInf},
                                    {-104, 0},
                                    {89, kInf},
                                    {kNan, kNan},
                                    {-103.5f, denormal}});
  expect_values(MathFunction::expm1, {{0, 0},
                                      {-0.0f, -0.0f},
                                      {denormal, denormal},
                                      {-denormal, -denormal},
                                      {1e-20f, 1e-20f},
                                      {-kInf, -1},
                                      {-1e30f, -1},
                                      {kInf, kInf},
                                      {1000, kInf},
                                      {kNan, kNan}});
  expect_values(MathFunction::sigmoid, {{0, 0.5f},
                                        {-kInf, 0},
                                        {-1e30f, 0},
                                        {kInf, 1},
                                        {1e30f, 1},
                                        {100, 1},
                                        {kNan, kNan},
                                        {-103.5f, denormal}});
  expect_values(MathFunction::tanh, {{0, 0},
                                     {-0.0f, -0.0f},
                                     {denormal, denormal},
                                     {-denormal, -denormal},
                                     {1e-20f, 1e-20f},
                                     {9.25f, 1},
                                     {-9.25f, -1},
                                     {1e30f, 1},
                                     {-1e30f, -1},
                                     {kInf, 1},
                                     {-kInf, -1},
                                     {kNan, kNan}});
}

TEST(VectorMathValuesCpu, LogarithmsAndRootsHaveTheirLimits) {
  const float denormal = std::numeric_limits<float>::denorm_min();
  expect_values(MathFunction::log, {{1, 0},
                                    {0, -kInf},
                                    {-0.0f, -kInf},
                                    {-1, kNan},
                                    {-denormal, kNan},
                                    {-kInf, kNan},
                                    {kInf, kInf},
                                    {kNan, kNan}});
  expect_values(MathFunction::log1p, {{0, 0},
                                      {-0.0f, -0.0f},
                                      {denormal, denormal},
                                      {-1, -kInf},
                                      {-1.5f, kNan},
                                      {-kInf, kNan},
                                      {kInf, kInf},
                                      {kNan, kNan}});
  expect_values(MathFunction::sqrt, {{0, 0},
                                     {-0.0f, -0.0f},
                                     {4, 2},
                                     {0x1p-148f, 0x1p-74f},
                                     {-denormal, kNan},
                                     {-1, kNan},
                                     {-kInf, kNan},
                                     {kInf, kInf},
                                     {kNan, kNan}});
  expect_values(MathFunction::rsqrt, {{0, kInf},
                                      {-0.0f, -kInf},
                                      {4, 0.5f},
                                      {0x1p-148f, 0x1p74f},
                                      {-denormal, kNan},
                                      {-1, kNan},
                                      {kInf, 0},
                                      {kNan, kNan}});
  expect_values(MathFunction::floor, {{0, 0},
                                      {-0.0f, -0.0f},
                                      {-denormal, -1},
                                      {denormal, 0},
                                      {2.5f, 2},
                                      {-2.5f, -3},
                                      {-3, -3},
                                      {0x1.fffffep22f, 0x1.fffffcp22f},
                                      {1e30f, 1e30f},
                                      {-kInf, -kInf},
                                      {kInf, kInf},
                                      {kNan, kNan}});
}

TEST(VectorMathValuesCpu, SinesHaveTheirLimits) {
  const float denormal = std::numeric_limits<float>::denorm_min();
  expect_values(MathFunction::sin, {{0, 0},
                                    {-0.0f, -0.0f},
                                    {denormal, denormal},
                                    {-denormal, -denormal},
                                    {1e-20f, 1e-20f},
                                    {-kInf, kNan},
                                    {kInf, kNan},
                                    {kNan, kNan}});
  expect_values(
      MathFunction::cos,
      {{0, 1}, {-0.0f, 1}, {denormal, 1}, {1e-20f, 1}, {-kInf, kNan}, {kInf, kNan}, {kNan, kNan}});
}

TEST(VectorMathValuesCpu, SinesOfFloatsNextToAMultipleOfHalfPi) {
  // pi, the nearest of all floats, the two largest, and the last of each word of digits.
  const std::vector<float> x{
      3.14159274f,    16367173 * 0x1p72f, 0x1.fffffep127f, 0x1.fffffcp127f, 0x1.fffffep31f,
      0x1p32f,        0x1.fffffep63f,     0x1p64f,         0x1.fffffep95f,  0x1p96f,
      0x1.fffffep-1f, 0.785398185f,       0.785398126f,    0x1.921fb6p0f,   -0x1.921fb6p0f,
      -0x1p64f};
  for (const CpuFeatures& cpu : cpus_of()) {
    Jit jit(cpu);
    for (MathFunction function : {MathFunction::sin, MathFunction::cos}) {
      std::vector<float> y(x.size());
      compile(jit, function, 16)(x.data(), y.data(), 16);
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_LE(ulps(y[i], reference(function, x[i])), kLimit)
            << name_of(function) << "(" << x[i] << ") is " << y[i] << ": " << cpu.name;
      }
    }
  }
}

TEST(VectorMathValuesCpu, BoundedFunctionsStayInTheirBounds) {
  // Every float from 4 to 32, where both functions round to 1.
  const uint32_t begin = std::bit_cast<uint32_t>(4.0f), end = std::bit_cast<uint32_t>(32.0f);
  std::vector<float> x(end - begin), y(end - begin);
  for (uint32_t bits = begin; bits < end; ++bits) x[bits - begin] = std::bit_cast<float>(bits);
  for (const CpuFeatures& cpu : cpus_of()) {
    Jit jit(cpu);
    const MathLoop tanh = compile(jit, MathFunction::tanh, cpu.vector_lanes_f32);
    const MathLoop sigmoid = compile(jit, MathFunction::sigmoid, cpu.vector_lanes_f32);
    tanh(x.data(), y.data(), int64_t(x.size()));
    EXPECT_LE(*std::max_element(y.begin(), y.end()), 1) << cpu.name;
    EXPECT_GT(*std::min_element(y.begin(), y.end()), 0.999f) << cpu.name;
    sigmoid(x.data(), y.data(), int64_t(x.size()));
    EXPECT_LE(*std::max_element(y.begin(), y.end()), 1) << cpu.name;
  }
}

class VectorMathSlow : public ::testing::TestWithParam<MathFunction> {};

TEST_P(VectorMathSlow, IsWithinFiveUlpOnEveryFloat) {
  const MathFunction function = GetParam();
  const auto cpus = cpus_of();
  constexpr uint64_t chunk = 1 << 20, chunks = (uint64_t{1} << 32) / chunk;
  const size_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::vector<Worst>> worst(threads, std::vector<Worst>(cpus.size()));
  std::vector<std::unique_ptr<Jit>> jits;
  std::vector<MathLoop> loops;
  for (const CpuFeatures& cpu : cpus) {
    jits.push_back(std::make_unique<Jit>(cpu));
    loops.push_back(compile(*jits.back(), function, cpu.vector_lanes_f32));
  }
  std::atomic<uint64_t> next = 0;
  const auto work = [&](size_t thread) {
    std::vector<float> x(chunk), y(chunk);
    std::vector<double> wanted(chunk);
    for (uint64_t c = next++; c < chunks; c = next++) {
      for (uint64_t i = 0; i < chunk; ++i) {
        x[i] = std::bit_cast<float>(uint32_t(c * chunk + i));
        wanted[i] = reference(function, x[i]);
      }
      for (size_t k = 0; k < cpus.size(); ++k) {
        loops[k](x.data(), y.data(), chunk);
        const Worst here = worst_of(x, y, wanted);
        worst[thread][k].see(here.error, here.at);
      }
    }
  };
  std::vector<std::thread> team;
  for (size_t thread = 0; thread < threads; ++thread) team.emplace_back(work, thread);
  for (std::thread& thread : team) thread.join();
  for (size_t k = 0; k < cpus.size(); ++k) {
    Worst all;
    for (const auto& of_thread : worst) all.see(of_thread[k].error, of_thread[k].at);
    EXPECT_LE(all.error, kLimit) << cpus[k].name << " at " << all.at;
    fmt::print("{:8} {:10} every float: {:.3f} ulp at {:.9g}\n", name_of(function), cpus[k].name,
               all.error, all.at);
    testing::largest(fmt::format("ulp of {}, every float", name_of(function)), all.error);
    testing::count("floats given to elementary functions", int64_t(chunk * chunks));
  }
}

INSTANTIATE_TEST_SUITE_P(All, VectorMathSlow, ::testing::ValuesIn(all_math_functions()), case_name);

}  // namespace
}  // namespace graphc::core::cpu
