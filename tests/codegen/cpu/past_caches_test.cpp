// SPDX-License-Identifier: Apache-2.0
// Values so large that they are written past the caches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "codegen/cpu/machine.h"
#include "codegen/target.h"
#include "ir/text.h"
#include "tests/codegen/cpu/any_cpu.h"
#include "tests/codegen/cpu/code_of.h"

namespace graphc::core::cpu {
namespace {

/// Two values of so many columns, large enough, and the sum of each row of one.
GraphPtr large_graph(int64_t columns, int64_t rows) {
  return parse_graph(
      fmt::format("graph (%x: i32[{0},{1}]) {{"
                  "  %y = add(mul(%x, 3), 1) %m = max(%x) {{axes = [1], keep = true}}"
                  "  return %y, sub(%m, %x), add(%m, %y) }}",
                  rows, columns));
}

int64_t rows_of(int64_t columns) { return uncached_bytes() / 4 / columns + 3; }

TEST(PastCachesCpu, AreRightWhereverVectorsBegin) {
  // Of whole lines; of rows that begin anywhere; of whole vectors and a rest.
  for (const int64_t columns : {1024, 1030, 1041}) {
    const int64_t rows = rows_of(columns);
    const GraphPtr graph = large_graph(columns, rows);
    Literal x(Type{DType::i32, {rows, columns}});
    int32_t next = 0;
    for (int32_t& element : x.mutable_data<int32_t>()) element = next++ % 9973;
    for (const int threads : {1, 3}) {
      CompileReport report;
      const auto executable = compile(graph, targets::cpu, {.threads = threads}, report);
      std::vector<Tensor> arguments{Tensor(x)}, outputs;
      for (const Argument& output : executable->signature().outputs)
        outputs.emplace_back(output.type);
      executable->run(arguments, outputs);
      int64_t wrong = 0;
      const Literal y = outputs[0].copy(), below = outputs[1].copy(), above = outputs[2].copy();
      const auto from = x.data<int32_t>();
      for (int64_t row = 0; row < rows; ++row) {
        const auto values = from.subspan(size_t(row * columns), size_t(columns));
        const int32_t most = *std::ranges::max_element(values);
        for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
          const int32_t value = from[size_t(i)];
          wrong += y.data<int32_t>()[size_t(i)] != 3 * value + 1;
          wrong += below.data<int32_t>()[size_t(i)] != most - value;
          wrong += above.data<int32_t>()[size_t(i)] != most + 3 * value + 1;
        }
      }
      EXPECT_EQ(wrong, 0) << columns << " columns, " << threads << " threads";
    }
  }
}

Literal results_of(const GraphPtr& graph, const std::vector<Literal>& inputs, int threads,
                   const std::string& level) {
  CompileReport report;
  const auto executable =
      compile(graph, targets::cpu, {.architecture = level, .threads = threads}, report);
  std::vector<Tensor> arguments, outputs;
  for (const Literal& input : inputs) arguments.emplace_back(input);
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(arguments, outputs);
  return outputs[0].copy();
}

TEST(PastCachesCpu, AreRightWhereTilesOfALoopWriteThem) {
  // 31 rows, so that tiles differ in height; columns of whole lines, and of a rest.
  for (const int64_t columns : {2048, 2060}) {
    const int64_t steps = uncached_bytes() / 4 / 31 / columns + 1;
    const GraphPtr graph = parse_graph(fmt::format(
        "graph (%x: f32[{0},31,1], %h0: f32[31,3], %u: f32[3,{1}], %v: f32[{1},3]) {{"
        "  %y, %h.e = scan %x.t in %x carry %h = %h0 with %u, %v {{"
        "    %p = matmul %h, %u next %h = matmul(tanh(%p), %v) emit exp(mul(%p, %x.t)) }}"
        "  return %y, %h.e }}",
        steps, columns));
    std::vector<Literal> inputs;
    for (const Value input : graph->inputs()) {
      inputs.emplace_back(input.type());
      int32_t next = 0;
      for (float& element : inputs.back().mutable_data<float>())
        element = float(++next * 7919 % 201 - 100) / 4000;
    }
    const Literal wanted = results_of(graph, inputs, 1, "x86-64");
    for (const int threads : {1, 2}) {
      const Literal found = results_of(graph, inputs, threads, "native");
      double most = 0;
      for (int64_t i = 0; i < wanted.elements(); ++i)
        most = std::max(most, std::abs(found.element(i) - wanted.element(i)));
      EXPECT_LT(most, 1e-5) << columns << " columns, " << threads << " threads";
    }
  }
}

TEST(PastCachesCpu, HaveTheInstructionsAndAFenceBehindThem) {
  const CpuFeatures cpu = any_cpu("x86-64-v4");
  const auto large = code_of(large_graph(1024, rows_of(1024)), cpu, {});
  EXPECT_TRUE(any_of(large, "vmovnt(ps|dq).*zmm"));
  EXPECT_TRUE(any_of(large, "sfence"));
  const auto small = code_of(large_graph(1024, 8), cpu, {});
  EXPECT_FALSE(any_of(small, "movnt|sfence"));
  // Half a line at a time would be slower.
  const auto halves = code_of(large_graph(1024, rows_of(1024)), any_cpu("x86-64-v3"), {});
  EXPECT_FALSE(any_of(halves, "movnt|sfence"));
}

}  // namespace
}  // namespace graphc::core::cpu
