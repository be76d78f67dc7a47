// SPDX-License-Identifier: Apache-2.0
// What a level has few of, registers and masks, does not slow its code down: loops of products
// keep what they need in registers, and whole vectors are loaded and stored without a mask.
#include <gtest/gtest.h>

#include "codegen/targets/cpu/emit/emit_sums.h"
#include "codegen/targets/cpu/machine.h"
#include "ir/text.h"
#include "tests/codegen/cpu/any_cpu.h"
#include "tests/codegen/cpu/code_of.h"

namespace graphc::core::cpu {
namespace {

constexpr const char* kLevels[] = {"x86-64", "x86-64-v3", "x86-64-v4"};

/// The loops for the tile of a product in so many parts.
std::vector<ProductLoops> loops_of(const CpuFeatures& cpu, int parts) {
  NestProgram program;
  program.kind = NestKind::tiles;
  program.products.resize(1);
  program.products[0].parts = parts;
  const Machine machine = machine_of(cpu, 1, Factors::as_stored);
  program.tile = machine.tile_of(machine, program);
  return product_loops_of(program);
}

/// A sum that is stored and loaded in each step of k takes three times as long.
TEST(ProductLoops, KeepEverythingInRegisters) {
  int looked_at = 0;
  for (const char* level : kLevels) {
    const CpuFeatures cpu = any_cpu(level);
    Jit jit(cpu);
    for (int parts = 1; parts <= 8; ++parts) {
      for (const ProductLoops& loops : loops_of(cpu, parts)) {
        SCOPED_TRACE(fmt::format("{}, {} parts: {}", level, parts, loops.symbol()));
        CodeModule module(cpu, "products");
        emit_product_loops(module, loops);
        const std::vector<Instruction> code = disassemble(jit.compile(std::move(module)));
        EXPECT_TRUE(any_of(code, "mul|fmadd"));
        EXPECT_EQ(count_of(code, "mov.*(%rsp.*%[xyz]mm|%[xyz]mm.*%rsp)"), 0);
        ++looked_at;
      }
    }
  }
  EXPECT_GE(looked_at, 24);
}

/// AVX2 has masked stores that take long, and no masks for numbers of 8 bits; SSE has none at all.
TEST(MaskedAccesses, AreForTheRestOfARow) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[5,37], %y: u8[5,37]) {
      return tanh(%x), cast(%y) {dtype = f32}
    })");
  const std::vector<Instruction> v3 = code_of(graph, any_cpu("x86-64-v3"), {});
  EXPECT_EQ(count_of(v3, R"(^vmovups %ymm\d+, .*\()"), 2);
  EXPECT_EQ(count_of(v3, R"(^vmaskmovps %ymm\d+, %ymm\d+, .*\()"), 2);
  // Eight bytes at once, widened on the way or afterwards.
  EXPECT_EQ(count_of(v3, R"(^(vmovq|vpmovzxbd) .*%r[a-z0-9]+.*\).*%[xy]mm)"), 1);
  const std::vector<Instruction> v1 = code_of(graph, any_cpu("x86-64"), {});
  EXPECT_EQ(count_of(v1, R"(^movups %xmm\d+, .*\()"), 2);
  const std::vector<Instruction> v4 = code_of(graph, any_cpu("x86-64-v4"), {});
  EXPECT_EQ(count_of(v4, R"(^vmovups %zmm\d+, .*\(.*\{%k)"), 2);
}

}  // namespace
}  // namespace graphc::core::cpu
