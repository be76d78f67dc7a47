// SPDX-License-Identifier: Apache-2.0
// Expressions, each evaluated by the compiler of this test and by the emulator.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/cuda/run_text.h"

// What a compiler asks of a reader's expressions is not asked of these.
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"

namespace graphc::core::cuda_emulator {
namespace {

using UnsignedChar = unsigned char;
using UnsignedShort = unsigned short;
using LongLong = long long;
using Wide = unsigned long long;
__extension__ using Widest = unsigned __int128;

struct Operands {
  int a, b;
  unsigned u, v;
  LongLong p, q;
  Wide r, s;
  float f, g;
  double x, y;
};

const Operands several[] = {
    {3, 7, 5u, 3000000000u, 1LL << 40, -77, 1ULL << 63, 9, 1.5f, -0.1f, 2.75, 1e-3},
    {-2147483647 - 1, -1, 0xFFFFFFFFu, 1u, -5, 3, 12345678901234567ULL, 11, 3e9f, 1e-40f, -4e9,
     0.3},
    {100, -9, 31u, 17u, 9007199254740993LL, 2, 3, 5, -2.5f, 16777217.0f, 1e300, -7.5},
};

template <typename T>
T emulated(const char* type, const std::string& expression, const Operands& o) {
  DeviceMemory memory;
  Array<T> result(memory, "result", 1);
  const Module module(kernel_text(
      std::string(type) +
          "* result, int a, int b, unsigned u, unsigned v, long long p, long long q, "
          "unsigned long long r, unsigned long long s, float f, float g, double x, double y",
      "result[0] = " + expression + ";"));
  run_kernel(module, launch_of(1, 1), memory, result.data(), o.a, o.b, o.u, o.v, o.p, o.q, o.r, o.s,
             o.f, o.g, o.x, o.y);
  return result.read()[0];
}

template <typename T>
void expect_same_bits(T found, T wanted, const char* expression) {
  EXPECT_EQ(std::memcmp(&found, &wanted, sizeof(T)), 0)
      << expression << ": found " << +found << ", wanted " << +wanted;
}

// The same expression here and there, with the same operands.
#define GRAPHC_SAME(T, type, expression)                                                \
  for (const Operands& o : several) {                                                   \
    [[maybe_unused]] const int a = o.a, b = o.b;                                        \
    [[maybe_unused]] const unsigned u = o.u, v = o.v;                                   \
    [[maybe_unused]] const LongLong p = o.p, q = o.q;                                   \
    [[maybe_unused]] const Wide r = o.r, s = o.s;                                       \
    [[maybe_unused]] const float f = o.f, g = o.g;                                      \
    [[maybe_unused]] const double x = o.x, y = o.y;                                     \
    expect_same_bits<T>(emulated<T>(type, #expression, o), T(expression), #expression); \
  }
#define GRAPHC_INT(expression) GRAPHC_SAME(int, "int", expression)
#define GRAPHC_WIDE(expression) GRAPHC_SAME(Wide, "unsigned long long", expression)
#define GRAPHC_FLOAT(expression) GRAPHC_SAME(float, "float", expression)
#define GRAPHC_DOUBLE(expression) GRAPHC_SAME(double, "double", expression)

TEST(EmulatorExpressions, FollowCsPrecedence) {
  GRAPHC_INT((int)(u + v * 3u - u / 2u % 7u));
  GRAPHC_INT((int)(u << 2 ^ v >> 3 | u & v));
  GRAPHC_INT((a < b) == (u < v) != (p >= q));
  GRAPHC_INT((a == b || u != v) && !(p <= q));
  GRAPHC_INT((a ? b : 5) + (u > v ? a & 3 : b & 5));
  GRAPHC_INT((~a >> 1) - -(b & 63));
  GRAPHC_INT((int)(2u - 3u - u));
  GRAPHC_INT(a < 5 ? 1 : a < 50 ? 2 : 3);
  GRAPHC_INT((a & 15) << 2 << 1 | 1);
  GRAPHC_INT(!a + !(a - a) * 2);
  GRAPHC_WIDE((r ^ s) + (r & ~s) * 3ull);
  GRAPHC_DOUBLE(x - y - x * y / (y + 1.0));
}

TEST(EmulatorExpressions, ConvertAsCDoes) {
  GRAPHC_INT((a < (int)u) + (-1 < 1u) * 2);
  GRAPHC_INT((-1LL < 1u) + 2 * (q < 1));
  GRAPHC_WIDE((unsigned long long)a + u);
  GRAPHC_WIDE((unsigned long long)(u + 1u));
  GRAPHC_WIDE((unsigned long long)(p * 3 + a));
  GRAPHC_INT((unsigned char)a + (unsigned short)b);
  GRAPHC_INT((bool)u + (bool)(u - u) * 2 + (bool)0.5f * 4);
  GRAPHC_FLOAT((float)p + (float)u + (float)r);
  GRAPHC_FLOAT((float)x);
  GRAPHC_DOUBLE(f + g);
  GRAPHC_DOUBLE(f + y);
  GRAPHC_DOUBLE((double)f * a + u);
  GRAPHC_DOUBLE(1 / 2 + 1 / 2.0 + 7 % 4);
  GRAPHC_INT((int)(1.9f + 0.3) + (int)-1.9);
  GRAPHC_SAME(UnsignedChar, "unsigned char", (unsigned char)(a + 200));
  GRAPHC_SAME(UnsignedShort, "unsigned short", (unsigned short)(u * 3u));
  GRAPHC_SAME(LongLong, "long long", (long long)u - p);
  GRAPHC_SAME(unsigned, "unsigned", sizeof(float) + sizeof(unsigned char) * 2 + sizeof(double));
}

TEST(EmulatorExpressions, RoundFloatsAfterEachOperation) {
  GRAPHC_FLOAT(f * g + f);
  GRAPHC_FLOAT((f + 1.0e8f) - 1.0e8f);
  GRAPHC_FLOAT(f / 3.0f * 3.0f - g);
  GRAPHC_FLOAT(0.1f + 0.2f);
  GRAPHC_DOUBLE(0.1f + 0.2);
  GRAPHC_FLOAT(0x1.8p23f + f - 0x1.8p23f);
  GRAPHC_DOUBLE(1e-3 + 1.5e3 + .5 + 2.);
}

TEST(EmulatorExpressions, ReadNumbersOfEachType) {
  GRAPHC_WIDE(0xFFFFFFFF + 1);
  GRAPHC_WIDE(0x7FFFFFFF + 0ull);
  GRAPHC_WIDE(4294967295u + 1u);
  GRAPHC_WIDE(4294967296 + 0xFFFFFFFFFFFFFFFFull);
  GRAPHC_WIDE(18446744073709551615ull - 1ULL);
  GRAPHC_WIDE(2147483648 * 4);
  GRAPHC_INT(true + true + false);
}

TEST(EmulatorExpressions, WrapSignedIntegers) {
  const Operands& o = several[1];
  const int lowest = std::numeric_limits<int>::min();
  EXPECT_EQ(emulated<int>("int", "a - 1", o), std::numeric_limits<int>::max());
  EXPECT_EQ(emulated<int>("int", "-a", o), lowest);
  EXPECT_EQ(emulated<int>("int", "a * 3", o), lowest);
  EXPECT_EQ(emulated<int>("int", "a / b", o), lowest);
  EXPECT_EQ(emulated<int>("int", "a % b", o), 0);
  EXPECT_EQ(emulated<int>("int", "abs(a)", o), lowest);
}

TEST(EmulatorExpressions, ConvertOutOfRangeFloatsAsAGpuDoes) {
  const Operands& o = several[1];
  EXPECT_EQ(emulated<int>("int", "(int)f", o), std::numeric_limits<int>::max());
  EXPECT_EQ(emulated<int>("int", "(int)x", o), std::numeric_limits<int>::min());
  EXPECT_EQ(emulated<unsigned>("unsigned", "(unsigned)x", o), 0u);
  EXPECT_EQ(emulated<int>("int", "(int)sqrt(x)", o), 0);
  EXPECT_EQ(emulated<LongLong>("long long", "(long long)(x * x * x * x)", o),
            std::numeric_limits<LongLong>::max());
}

// What CUDA names, as C++ has it.
int __clz(int a) { return a == 0 ? 32 : __builtin_clz(unsigned(a)); }
int __popc(unsigned a) { return __builtin_popcount(a); }
int __ffs(int a) { return __builtin_ffs(a); }
unsigned __umulhi(unsigned a, unsigned b) { return unsigned(Wide(a) * b >> 32); }
unsigned __float_as_uint(float a) { return std::bit_cast<unsigned>(a); }
float __uint_as_float(unsigned a) { return std::bit_cast<float>(a); }
LongLong __double_as_longlong(double a) { return std::bit_cast<LongLong>(a); }
double __longlong_as_double(LongLong a) { return std::bit_cast<double>(a); }

TEST(EmulatorExpressions, CallBuiltinsOfBits) {
  GRAPHC_INT(__clz(a) + __clz(0) * 100 + __popc(u) * 1000 + __ffs(b));
  GRAPHC_SAME(unsigned, "unsigned", __umulhi(u, v) + __umulhi(v, 1u << 31));
  GRAPHC_SAME(unsigned, "unsigned", __float_as_uint(f) ^ __float_as_uint(g + 1.0f));
  GRAPHC_FLOAT(__uint_as_float(u & 0x3FFFFFFFu));
  GRAPHC_SAME(LongLong, "long long", __double_as_longlong(x));
  GRAPHC_DOUBLE(__longlong_as_double(__double_as_longlong(y)));
  const Operands& o = several[1];
  EXPECT_EQ(emulated<int>("int", "__mulhi(a, 6)", o), -3);
  EXPECT_EQ(emulated<Wide>("unsigned long long", "__umul64hi(r, r << 4)", o),
            Wide((Widest(o.r) * (o.r << 4)) >> 64));
}

TEST(EmulatorExpressions, CallBuiltinsOfMathematics) {
  using std::copysign, std::fmax, std::fmin, std::fmod, std::isinf, std::isnan;
  GRAPHC_DOUBLE(exp(y) + expm1(y) + exp2(y) + tanh(x) + sin(x) + cos(x) + erf(y));
  GRAPHC_DOUBLE(log(fabs(x)) + log1p(fabs(y)) + log2(fabs(x)) + tan(y));
  GRAPHC_DOUBLE(sqrt(fabs(x)) + floor(x) + ceil(y) + rint(x) + trunc(y));
  GRAPHC_DOUBLE(fmin(x, y) + 3 * fmax(x, y) + fmod(x, 1.25) + copysign(2.0, y));
  GRAPHC_DOUBLE(pow(fabs(y), 1.5) + fma(x, y, -x));
  GRAPHC_FLOAT(expf(g) + expm1f(g) + exp2f(g) + tanhf(f) + sinf(f) + cosf(f) + erff(g));
  GRAPHC_FLOAT(logf(fabsf(f)) + log1pf(fabsf(g)) + log2f(fabsf(f)) + tanf(g));
  GRAPHC_FLOAT(sqrtf(fabsf(f)) + floorf(f) + ceilf(g) + rintf(f) + truncf(g));
  GRAPHC_FLOAT(fminf(f, g) + 3 * fmaxf(f, g) + fmodf(f, 1.25f) + copysignf(2.0f, g));
  GRAPHC_FLOAT(powf(fabsf(f), 1.5f) + fmaf(f, g, -f));
  GRAPHC_INT(isnan(f) + isnan(x - x) * 2 + isinf(x * 1e10) * 4 + isinf(f / 0.0f) * 8);
  const Operands& o = several[0];
  EXPECT_EQ(emulated<double>("double", "rsqrt(x)", o), 1 / std::sqrt(o.x));
  EXPECT_EQ(emulated<float>("float", "rsqrtf(f)", o), float(1 / std::sqrt(double(o.f))));
  EXPECT_EQ(
      emulated<float>("float", "__fadd_rn(__fmul_rn(f, g), __fsub_rn(f, __fdiv_rn(g, 3.0f)))", o),
      o.f * o.g + (o.f - o.g / 3.0f));
  EXPECT_EQ(
      emulated<double>("double", "__dadd_rn(__dmul_rn(x, y), __dsub_rn(x, __ddiv_rn(y, 3)))", o),
      o.x * o.y + (o.x - o.y / 3.0));
  EXPECT_EQ(emulated<double>("double", "__fma_rn(x, y, x)", o), std::fma(o.x, o.y, o.x));
  EXPECT_EQ(emulated<float>("float", "__fmaf_rn(f, g, f)", o), std::fma(o.f, o.g, o.f));
}

TEST(EmulatorExpressions, ChooseOverloadsByTheirArguments) {
  const Operands& o = several[1];
  EXPECT_EQ(emulated<int>("int", "min(a, 5)", o), o.a);
  EXPECT_EQ(emulated<unsigned>("unsigned", "min(u, 5u)", o), 5u);
  EXPECT_EQ(emulated<unsigned>("unsigned", "max(u, 5)", o), o.u);
  EXPECT_EQ(emulated<LongLong>("long long", "max(p, -9)", o), -5);
  EXPECT_EQ(emulated<float>("float", "max(f, 1)", o), o.f);
  EXPECT_EQ(emulated<double>("double", "min(x, f)", o), o.x);
  EXPECT_EQ(emulated<float>("float", "abs(f - 4e9f)", o), std::fabs(o.f - 4e9f));
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
