// SPDX-License-Identifier: Apache-2.0
// Statements, functions and variables of a text, against the same in C++.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/cuda/run_text.h"

namespace graphc::core::cuda_emulator {
namespace {

/// What each of 64 threads, in two blocks, stores by `body` at out[i].
std::vector<int> stored_by(const std::string& body, uint64_t seed = 0,
                           const std::string& functions = "") {
  DeviceMemory memory;
  Array<int> out(memory, "out", 64);
  const Module module(functions + kernel_text("int* __restrict__ out, const int n",
                                              "const int i = blockIdx.x * blockDim.x + "
                                              "threadIdx.x;\n" +
                                                  body));
  run_kernel(module, launch_of(2, 32, seed), memory, out.data(), 64);
  return out.read();
}

template <typename F>
void expect_each(const std::string& body, F wanted, const std::string& functions = "") {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const std::vector<int> found = stored_by(body, seed, functions);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(found[size_t(i)], wanted(i)) << body << "\n" << i;
  }
}

TEST(EmulatorStatements, LoopAndBranchForEachThread) {
  expect_each("int sum = 0; for (int k = 0; k < i; ++k) sum += k * k; out[i] = sum;", [](int i) {
    int sum = 0;
    for (int k = 0; k < i; ++k) sum += k * k;
    return sum;
  });
  expect_each(
      "int k = i; int steps = 0; while (k != 1 && k > 0) { k = k % 2 ? 3 * k + 1 : k / 2; ++steps; "
      "if (steps > 50) break; } out[i] = steps;",
      [](int i) {
        int k = i, steps = 0;
        while (k != 1 && k > 0) {
          k = k % 2 ? 3 * k + 1 : k / 2;
          ++steps;
          if (steps > 50) break;
        }
        return steps;
      });
  expect_each(
      "int k = i, sum = 0; do { if (k & 1) continue; sum += k; } while (--k > 3); "
      "out[i] = sum;",
      [](int i) {
        int k = i, sum = 0;
        do {
          if (k & 1) continue;
          sum += k;
        } while (--k > 3);
        return sum;
      });
  expect_each(
      "if (i < 10) out[i] = 1; else if (i < 40) out[i] = 2; else { out[i] = 3; return; } "
      "out[i] += 10;",
      [](int i) { return i < 10   ? 11
                         : i < 40 ? 12
                                  : 3; });
  expect_each(
      "int a = 0, b; for (a = 0, b = 9; a < b; ++a, --b) { if (a == i) continue; ; } "
      "out[i] = a * 10 + b;",
      [](int) { return 54; });
  expect_each("#pragma unroll\nfor (int k = 0; ; k++) if (k * k > i) { out[i] = k; break; }",
              [](int i) {
                for (int k = 0;; k++)
                  if (k * k > i) return k;
              });
}

TEST(EmulatorStatements, AssignInEveryWay) {
  expect_each(
      "int k = i; k += 3; k -= 1; k *= 5; k /= 2; k %= 100; k <<= 2; k >>= 1; k |= 64; "
      "k &= 127; k ^= 21; out[i] = k;",
      [](int i) { return ((((((i + 2) * 5 / 2 % 100) << 2) >> 1) | 64) & 127) ^ 21; });
  expect_each(
      "int k = i; int a = k++; int b = ++k; int c = k--; int d = --k; "
      "out[i] = a + 3 * b + 5 * c + 7 * d + 11 * k;",
      [](int i) { return i + 3 * (i + 2) + 5 * (i + 2) + 7 * i + 11 * i; });
  expect_each("out[i] = 7; out[i]++; int old = out[i]--; ++out[i]; out[i] *= old; out[i] += i;",
              [](int i) { return 64 + i; });
  expect_each(
      "unsigned char c = (unsigned char)i; c += 250; unsigned short h = 65535; h++; "
      "out[i] = c + h; float f = 1.5f; f += 1; double d = f; d *= 2; out[i] += (int)d;",
      [](int i) { return (i + 250) % 256 + 5; });
  expect_each(
      "int a, b; a = b = i; const int* p = out; long long q = a; q += 1ll; "
      "out[i] = a + b + (int)q + (p == out);",
      [](int i) { return 3 * i + 2; });
  expect_each(
      "int k = 1; bool both = i > 3 && ++k > 0; bool one = i > 3 || ++k > 0; "
      "out[i] = k * 4 + both * 2 + one;",
      [](int i) { return i > 3 ? 8 + 3 : 8 + 1; });
}

TEST(EmulatorStatements, HaveArraysAndPointers) {
  expect_each(
      "int a[3][4] = {}; for (int k = 0; k < 12; ++k) a[k / 4][k % 4] += k * i; "
      "out[i] = a[2][3] - a[1][2] + a[0][0];",
      [](int i) { return 11 * i - 6 * i; });
  expect_each(
      "int a[8]; for (int k = 0; k < 8; k++) a[k] = k * i; int* p = a + 2; p += 1; ++p; "
      "p--; out[i] = *p + p[2] * 10 + (int)(&a[7] - p) * 1000 + (p < a + 8);",
      [](int i) { return 3 * i + 50 * i + 4000 + 1; });
  expect_each("int value = i; int* p = &value; *p += 5; (*p)++; out[i] = value;",
              [](int i) { return i + 6; });
  expect_each(
      "const int* rows[2]; int a[2]; a[0] = i; a[1] = 2 * i; rows[0] = a; rows[1] = a + 1; "
      "out[i] = rows[0][0] + *rows[1] * 10;",
      [](int i) { return 21 * i; });
  expect_each(
      "unsigned char bytes[4] = {}; bytes[1] = (unsigned char)i; "
      "unsigned short halves[2] = {}; halves[1] = 65535; double d[2] = {}; d[1] = 0.5; "
      "bool flags[2] = {}; flags[1] = i; "
      "out[i] = bytes[1] * 256 + halves[1] + (int)(d[1] * 2) + flags[1];",
      [](int i) { return i * 256 + 65535 + 1 + (i != 0); });
  expect_each(
      "float a[2] = {}; void* p = a; *((float*)p + 1) = 2.5f; out[i] = (int)(a[1] * 2) + "
      "(int)((unsigned long long)(a + 1) - (unsigned long long)p);",
      [](int) { return 9; });
}

TEST(EmulatorStatements, CallFunctions) {
  const std::string functions =
      "__device__ __forceinline__ int twice(int k) { return 2 * k; }\n"
      "static __device__ int sign(int k) { if (k < 0) return -1; else if (k > 0) return 1; "
      "return 0; }\n"
      "__device__ __forceinline__ void swap(int* a, int* b) { int t = *a; *a = *b; *b = t; }\n"
      "__device__ __forceinline__ int power(int base, unsigned n) { int result = 1; "
      "while (n > 0u) { if (n & 1u) result *= base; base *= base; n >>= 1; } return result; }\n"
      "__device__ __forceinline__ int sum_of(const int* a, int n) { int sum = 0; "
      "for (int k = 0; k < n; ++k) { if (a[k] < 0) continue; sum += twice(a[k]); } return sum; }\n";
  expect_each(
      "int k = i - 32; k = twice(k) + sign(k) * twice(sign(k)); out[i] = k;",
      [](int i) { return 2 * (i - 32) + (i == 32 ? 0 : 2); }, functions);
  expect_each(
      "int a = i, b = 7; swap(&a, &b); out[i] = a * 100 + b;", [](int i) { return 700 + i; },
      functions);
  expect_each(
      "int m = 3; out[i] = power(i, m) + m + power(2, 4);",
      [](int i) { return i * i * i + 3 + 16; }, functions);
  expect_each(
      "int a[5] = {}; a[0] = i; a[1] = -9; a[4] = 3; out[i] = sum_of(a, 5) + sum_of(a, 1);",
      [](int i) { return 4 * i + 6; }, functions);
  expect_each(
      "for (int k = 0; k < 3; ++k) { if (sign(k - 1) == 0) continue; out[i] = twice(k); }",
      [](int) { return 4; }, functions);
}

TEST(EmulatorStatements, KnowTheirPlaceInTheGrid) {
  DeviceMemory memory;
  Array<unsigned> out(memory, "out", 2 * 3 * 2 * 4 * 3 * 2);
  const Module module(kernel_text(
      "unsigned* out",
      "unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
      "unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);\n"
      "out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = block * 1000u + "
      "threadIdx.z * 100u + threadIdx.y * 10u + threadIdx.x + gridDim.z * 100000u;"));
  Launch launch;
  const unsigned grid[3] = {2, 3, 2}, block[3] = {4, 3, 2};
  std::copy(grid, grid + 3, launch.grid);
  std::copy(block, block + 3, launch.block);
  run_kernel(module, launch, memory, out.data());
  const std::vector<unsigned> found = out.read();
  for (unsigned b = 0, at = 0; b < 12; ++b)
    for (unsigned z = 0; z < 2; ++z)
      for (unsigned y = 0; y < 3; ++y)
        for (unsigned x = 0; x < 4; ++x, ++at)
          EXPECT_EQ(found[at], 200000 + b * 1000 + z * 100 + y * 10 + x);
}

TEST(EmulatorStatements, TakeParametersOfEachType) {
  DeviceMemory memory;
  Array<double> out(memory, "out", 1);
  const Module module(kernel_text(
      "double* out, bool a, unsigned char b, unsigned short c, int d, unsigned e, long long f, "
      "unsigned long long g, float h, double k, const void* __restrict__ p",
      "d += 1; *out = a + b + c + d + e + (double)f + (double)g + h + k;"));
  run_kernel(module, launch_of(1, 1), memory, out.data(), true, (unsigned char)200,
             (unsigned short)60000, -5, 4000000000u, -(1LL << 40), 1ULL << 50, 0.5f, 0.25,
             static_cast<const void*>(nullptr));
  EXPECT_EQ(out.read()[0],
            1 + 200 + 60000 - 4 + 4000000000.0 - double(1LL << 40) + double(1ULL << 50) + 0.75);
  EXPECT_EQ(module.kernels(), std::vector<std::string>{"tested"});
  const Kernel& kernel = *module.find("tested");
  std::vector<size_t> sizes;
  for (const ParameterType& one : kernel.parameters()) sizes.push_back(one.size);
  EXPECT_EQ(sizes, (std::vector<size_t>{8, 1, 1, 2, 4, 4, 8, 8, 4, 8, 8}));
  EXPECT_TRUE(kernel.parameters()[0].pointer && kernel.parameters()[10].pointer);
  EXPECT_FALSE(kernel.parameters()[6].pointer);
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
