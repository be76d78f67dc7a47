// SPDX-License-Identifier: Apache-2.0
// Powers against double precision: over all floats, over all results, and the special values of C.
#include <gtest/gtest.h>

#include <array>
#include <cfloat>
#include <random>
#include <vector>

#include "codegen/targets/cpu/jit/jit.h"
#include "codegen/targets/cpu/math/vector_math.h"
#include "ir/error.h"
#include "tests/codegen/cpu/ulps.h"
#include "tests/testing/counts.h"

namespace graphc::core::cpu {
namespace {

constexpr double kLimit = 5;  // ulp
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Pairs {
  std::vector<float> x, y;
  std::vector<double> wanted;

  void add(float of, float to) {
    x.push_back(of);
    y.push_back(to);
    wanted.push_back(std::pow(double(of), double(to)));
  }
};

PowLoop compile(Jit& jit, int lanes) {
  return reinterpret_cast<PowLoop>(jit.add(emit_pow_loop(jit.cpu(), lanes), "pow"));
}

void expect_close(const Pairs& pairs, const char* what) {
  std::vector<float> z(pairs.x.size());
  for (const CpuFeatures& cpu : cpus_of()) {
    Jit jit(cpu);
    for (int lanes : {4, 8, 16}) {
      compile(jit, lanes)(pairs.x.data(), pairs.y.data(), z.data(), int64_t(z.size()));
      Worst worst;
      float power = 0;
      for (size_t i = 0; i < z.size(); ++i) {
        const double error = ulps(z[i], pairs.wanted[i]);
        if (error > worst.error) power = pairs.y[i];
        worst.see(error, pairs.x[i]);
      }
      EXPECT_LE(worst.error, kLimit) << "at " << worst.at << " to the " << power;
      fmt::print("pow, {:12} {:10} {:2} lanes: {:.3f} ulp at {:.9g} to the {:.9g}\n", what,
                 cpu.name, lanes, worst.error, worst.at, power);
      testing::largest("ulp of pow", worst.error);
    }
  }
}

/// 2^22 floats of both signs and every exponent: 2^13 of each.
template <typename Visit>
void for_stratified(std::mt19937& random, const Visit& visit) {
  for (uint32_t high = 0; high < 512; ++high) {
    for (uint32_t part = 0; part < 8192; ++part) {
      visit(std::bit_cast<float>(high << 23 | part << 10 | (uint32_t(random()) & 1023)));
    }
  }
}

TEST(VectorPowerCpu, IsWithinFiveUlpForEveryExponentOfBothOperands) {
  std::mt19937 random(20240612);
  Pairs pairs;
  for_stratified(random, [&](float x) { pairs.add(x, std::bit_cast<float>(uint32_t(random()))); });
  expect_close(pairs, "any bits");
}

TEST(VectorPowerCpu, IsWithinFiveUlpForEveryResult) {
  // From below the least denormal to above the largest float.
  std::mt19937 random(20240613);
  Pairs pairs;
  for_stratified(random, [&](float x) {
    const double exponent = std::uniform_real_distribution<double>(-155, 133)(random);
    const double logarithm = std::log2(std::abs(double(x)));
    const double y = std::isfinite(logarithm) && logarithm != 0 ? exponent / logarithm : exponent;
    // Negative numbers have integral powers only.
    pairs.add(x, float(x < 0 ? std::round(y) : y));
  });
  expect_close(pairs, "any result");
}

TEST(VectorPowerCpu, IsWithinFiveUlpNextToOne) {
  // Where the logarithm is small and its relative error counts.
  std::mt19937 random(20240614);
  Pairs pairs;
  const uint32_t one = std::bit_cast<uint32_t>(1.0f);
  for (uint32_t bits = one - (1 << 17); bits < one + (1 << 17); ++bits) {
    const float x = std::bit_cast<float>(bits);
    const double logarithm = x == 1 ? 1 : std::log2(double(x));
    for (int i = 0; i < 4; ++i) {
      const double exponent = std::uniform_real_distribution<double>(-150, 128)(random);
      pairs.add(x, float(exponent / logarithm));
    }
  }
  expect_close(pairs, "next to one");
}

bool same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

/// Every pair of values with a rule of their own in C's Annex F, and their neighbours.
std::vector<float> special() {
  const float denormal = std::numeric_limits<float>::denorm_min();
  std::vector<float> values{kNan};
  for (float size : {0.0f, denormal, FLT_MIN, 0.5f, 0x1.fffffep-1f, 1.0f, 0x1.000002p0f, 1.5f, 2.0f,
                     2.5f, 3.0f, 4.0f, 0x1.fffffep23f, 0x1p24f, 0x1.000002p24f, FLT_MAX, kInf}) {
    values.push_back(size);
    values.push_back(-size);
  }
  return values;
}

TEST(VectorPowerCpu, HasTheSpecialValuesOfC) {
  for (const CpuFeatures& cpu : cpus_of()) {
    Jit jit(cpu);
    for (int lanes : {1, 3, 4, 8, 16, 32}) {
      const PowLoop loop = compile(jit, lanes);
      for (float of : special()) {
        for (float to : special()) {
          std::vector<float> x(size_t(lanes), 1.5f), y(size_t(lanes), 0.5f), z(size_t(lanes), 0);
          x.back() = of;
          y.back() = to;
          loop(x.data(), y.data(), z.data(), lanes);
          const auto wanted = float(std::pow(double(of), double(to)));
          // Elsewhere rounding is free; 0, infinity, NaN and their signs are not.
          const bool exact = wanted == 0 || std::isinf(wanted) || std::isnan(wanted);
          const bool right = exact ? same(z.back(), wanted) : ulps(z.back(), wanted) <= kLimit;
          EXPECT_TRUE(right) << of << " to the " << to << " is " << z.back() << ", wanted "
                             << wanted << ": " << cpu.name << ", " << lanes << " lanes";
        }
      }
    }
  }
}

TEST(VectorPowerCpu, PowersThatAreFloatsAreExact) {
  const std::vector<std::array<float, 3>> cases{
      {2, 3, 8},      {3, 2, 9},         {-3, 3, -27}, {-2, -1, -0.5f},      {7, 1, 7},
      {10, 2, 100},   {0.5f, 4, .0625f}, {4, 0.5f, 2}, {2, -149, 0x1p-149f}, {2, 127, 0x1p127f},
      {2, 128, kInf}, {-2, 129, -kInf},  {2, -151, 0}, {-2, -151, -0.0f},    {1.5f, 0, 1}};
  for (const CpuFeatures& cpu : cpus_of()) {
    Jit jit(cpu);
    const PowLoop loop = compile(jit, 1);
    for (const auto& [x, y, wanted] : cases) {
      float z = 0;
      loop(&x, &y, &z, 1);
      EXPECT_TRUE(same(z, wanted)) << x << " to the " << y << " is " << z << ": " << cpu.name;
    }
  }
}

}  // namespace
}  // namespace graphc::core::cpu
