// SPDX-License-Identifier: Apache-2.0
// How two threads share out a large product: by what is least to pack (codegen/plan/schedule.cpp).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/target.h"
#include "codegen/targets/cpu/target.h"
#include "ir/text.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

/// The plan of a product [m,k] x [k,n], whose left operand lies as [k,m] if it is `across`.
std::string plan_of_product(int m, int k, int n, bool across) {
  CompileOptions options;
  options.architecture = "x86-64-v3";  // blocks of 16 columns
  options.threads = 2;
  const std::string text = fmt::format(
      "graph @product(%a: f32[{},{}], %b: f32[{},{}]) {{\n"
      "  %c = matmul(%a,%b) {{transpose_a={}}}\n"
      "  return %c\n"
      "}}\n",
      across ? k : m, across ? m : k, k, n, across);
  return targets::cpu.show(parse_graph(text), options, "plan");
}

TEST(ProductSharesCpu, AreByWhatIsLeastToPack) {
  // The gradient of a matrix with more columns than rows: both threads pack all of the rows, which
  // are fewer. With more rows: all of the columns.
  EXPECT_THAT(plan_of_product(64, 3200, 256, true), HasSubstr("columns 0..128 | 128..256"));
  EXPECT_THAT(plan_of_product(2600, 700, 650, true), HasSubstr("rows 0..1300 | 1300..2600"));
  // Rows that lie as they are read need no packing.
  EXPECT_THAT(plan_of_product(700, 200, 4096, false), HasSubstr("columns 0..2048 | 2048..4096"));
}

TEST(ProductSharesCpu, AreEvenBeforeTheyPackLittle) {
  // Of 24 columns one thread would have 16.
  EXPECT_THAT(plan_of_product(60, 3200, 24, true), HasSubstr("rows 0..30 | 30..60"));
  EXPECT_THAT(plan_of_product(2, 400, 96, false), HasSubstr("columns 0..48 | 48..96"));
}

}  // namespace
}  // namespace graphc::core::testing
