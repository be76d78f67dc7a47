// SPDX-License-Identifier: Apache-2.0
// The machine code of products by matrix tiles: what is loaded how often, and what stands where.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <utility>
#include <vector>

#include "ir/text.h"
#include "tests/codegen/cpu/any_cpu.h"
#include "tests/codegen/cpu/code_of.h"

namespace graphc::core::cpu {
namespace {

TEST(InstructionsOfTiles, ProductsInPartsLoadEachPartOfTheMatrixOnce) {
  const CpuFeatures cpu = any_cpu_with_matrix_tiles();
  const GraphPtr graph =
      parse_graph("graph (%a: f32[64,64], %b: f32[64,64]) { return matmul(%a, %b) }");
  const auto count = [&](Precision precision, const char* instruction) {
    return count_of(code_of(graph, cpu, {.precision = precision}), instruction);
  };
  const auto products = count(Precision::bf16, "^tdpbf16ps");
  EXPECT_GT(products, 0);
  EXPECT_EQ(count(Precision::bf16x3, "^tdpbf16ps"), 3 * products);
  EXPECT_EQ(count(Precision::bf16x6, "^tdpbf16ps"), 6 * products);
  // Blocks of two tiles of rows, with a body among the products and without, and of one, by two of
  // columns: of the matrix each part once, of the rows one of two parts each, or one of three parts
  // four times. Sums without parts go on where others ended, and are loaded for it.
  EXPECT_EQ(count(Precision::bf16, "^tileload"), (2 + 2 + 1) + 3 * 2 + (4 + 2));
  EXPECT_EQ(count(Precision::bf16x3, "^tileload"), 2 * (2 + 2 + 1) + 3 * 2 * 2);
  EXPECT_EQ(count(Precision::bf16x6, "^tileload"), 4 * (2 + 2 + 1) + 3 * 3 * 2);
}

TEST(InstructionsOfTiles, ProductsByTilesComeAmongTheBodyOfTheTileBefore) {
  const CpuFeatures cpu = any_cpu_with_matrix_tiles();
  const GraphPtr graph = parse_graph(R"(
      graph @cell(%h: f32[70,64], %u: f32[64,128], %z: f32[70,128], %c: f32[70,32]) {
        %i, %f, %g, %o = split add(%z, matmul(%h, %u)) {axis = 1, parts = 4}
        %next = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))
        return mul(sigmoid(%o), tanh(%next)), %next
      })");
  const std::vector<Instruction> code = code_of(graph, cpu, {.precision = Precision::bf16});
  // Runs of other vector instructions from one product to the next: a body has two hundred, which
  // four products share.
  std::vector<int> runs;
  int run = 0;
  for (const Instruction& each : code) {
    if (std::regex_search(each.text, std::regex("^tdpbf16ps")))
      runs.push_back(std::exchange(run, 0));
    if (std::regex_search(each.text, std::regex("^(ret|call)"))) run = 0;
    run += std::regex_search(each.text, std::regex("^v.*zmm"));
  }
  EXPECT_EQ(std::ranges::count_if(runs, [](int length) { return length > 20 && length < 100; }), 3);
  EXPECT_EQ(std::ranges::count_if(runs, [](int length) { return length >= 100; }), 0);
  // What divides leaves the ports to others that products leave to the body.
  EXPECT_TRUE(any_of(code, "^vdivps.*zmm"));
  EXPECT_FALSE(any_of(code, "^vrcp14ps"));
  const std::vector<Instruction> f32 = code_of(graph, cpu, {});
  EXPECT_TRUE(any_of(f32, "^vrcp14ps.*zmm"));
  EXPECT_FALSE(any_of(f32, "^vdivps"));
}

}  // namespace
}  // namespace graphc::core::cpu
