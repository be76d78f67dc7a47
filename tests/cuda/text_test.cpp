// SPDX-License-Identifier: Apache-2.0
// What the text may not say, and where that is said to be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cuda/run_text.h"

namespace graphc::core::cuda_emulator {
namespace {

using testing::HasSubstr;

std::string text_error_of(const std::string& text) {
  try {
    const Module module(text, "kernels.cu");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "";
}

void expect_refused(const std::string& body, const std::string& part) {
  EXPECT_THAT(text_error_of(kernel_text("int* p, const float* q, int n", body)), HasSubstr(part))
      << body;
}

TEST(EmulatorText, SaysWhereAnErrorIs) {
  EXPECT_THAT(
      text_error_of(kernel_text("int* p", "p[0] = 1;\n  p[1] = missing;")),
      HasSubstr("kernels.cu:3:10: error: found 'missing', wanted a variable declared before"));
  EXPECT_THAT(text_error_of(kernel_text("int* p", "p[0] = 1 2;")),
              HasSubstr("kernels.cu:2:10: error: found '2', wanted ';'"));
  EXPECT_THAT(text_error_of("extern \"C\" __global__ void __launch_bounds__(32) f() {"),
              HasSubstr("found the end of the text, wanted '}'"));
}

TEST(EmulatorText, NoLineGoesOnInTheNext) {
  const std::string part = "found a line that ends in a backslash, wanted none";
  EXPECT_THAT(text_error_of("// a comment \\\n"), HasSubstr("kernels.cu:1:15: error: " + part));
  expect_refused("// a comment \\ \t\n  p[0] = 1;", part);
  expect_refused("#pragma unroll \\\n", "wanted no line of the preprocessor");
  EXPECT_EQ(text_error_of("// one \\ within\n"), "");
}

TEST(EmulatorText, HoldsFunctionsAndNothingElse) {
  for (const char* text :
       {"#include <cuda.h>\n", "#define A 1\n", "int global;", "struct A { int a; };",
        "template <int n> __device__ void f() {}", "typedef int a;", "__constant__ int c;",
        "__global__ void f() {}", "extern \"C\" __global__ int __launch_bounds__(3) f() {}",
        "extern \"C\" __global__ void f() {}", "__device__ int f(int a[3]) { return a[0]; }",
        "extern \"C\" __global__ void __launch_bounds__(2048) f() {}", "__device__ int f(int a);",
        "__device__ void f(int** p) {}", "__device__ void f(long a) {}", "/* comment */",
        "__device__ int min(int a) { return a; }", "__device__ int f(int a, int a) { return a; }"})
    EXPECT_THAT(text_error_of(text), HasSubstr("kernels.cu:1:")) << text;
  EXPECT_EQ(text_error_of("// nothing\n"), "");
  EXPECT_EQ(text_error_of("extern \"C\" __global__ void __launch_bounds__(128, 2) f() {}"), "");
}

TEST(EmulatorText, RefusesStatementsOutsideTheSubset) {
  expect_refused("switch (n) {}", "found 'switch'");
  expect_refused("goto end;", "found 'goto'");
  expect_refused("break;", "wanted it within a loop");
  expect_refused("return 1;", "wanted ';': the function returns void");
  expect_refused("const int k;", "wanted the first value of a constant");
  expect_refused("int k = 1; int k = 2;", "found a second 'k'");
  expect_refused("int a[n];", "wanted a constant number");
  expect_refused("int a[2] = {1, 2};", "found '1', wanted '}'");
  expect_refused("__shared__ int s = 3;", "shared memory has none");
  expect_refused("for (int k = 0; k < n; ++k) int j = k;", "a declaration stands in a block");
  expect_refused("auto k = 1;", "found 'auto'");
  expect_refused("unsigned long k = 1;", "found 'unsigned long', wanted one of");
  expect_refused("#pragma once\n", "wanted no line of the preprocessor");
}

TEST(EmulatorText, RefusesExpressionsThatCWouldNotTake) {
  expect_refused("q[0] = 1.0f;", "found a constant to be assigned");
  expect_refused("const int k = 1; k = 2;", "found a constant to be assigned");
  expect_refused("n + 1 = 2;", "found a value, wanted a variable");
  expect_refused("p = q;", "found a value of type const float*, wanted int*");
  expect_refused("int* r = 5;", "found a value of type int, wanted int*");
  expect_refused("float* r = q;", "found a value of type const float*, wanted float*");
  expect_refused("p[1.5f] = 1;", "found int*[float]");
  expect_refused("n[0] = 1;", "found int[int]");
  expect_refused("p[0] = 1.5f % 2;", "found float % int");
  expect_refused("p[0] = q + 1;", "found a value of type const float*, wanted int");
  expect_refused("p[0] = p * 2;", "found int* * int");
  expect_refused("p[0] = ~1.0f;", "found ~float");
  expect_refused("int a[2][2] = {}; p[0] = a[1];", "found a value of type int*, wanted int");
  expect_refused("p[0] = exp(1.0f);", "found exp(float), wanted other types");
  expect_refused("p[0] = expf(1.0f, 2.0f);", "found expf(float, float)");
  expect_refused("float f = 1.0f; atomicAdd(&f, 1.0f);", "found atomicAdd(float*, float)");
  expect_refused("p[0] = printf(1);", "found 'printf', wanted a function defined before");
  expect_refused("tested(p, q, n);", "found 'tested'");
  expect_refused("p[0] = 1 ? p : 2;", "wanted two values of a type");
  expect_refused("p[0] = 09;", "octal");
  expect_refused("p[0] = 1.5x;", "found '1.5x', wanted a number");
  expect_refused("p[0] = 5000000000000000000000;", "wanted a number");
  expect_refused("p[0] = 'a';", "the character");
  expect_refused("int** r = &p;", "wanted a pointer to scalars");
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
