// SPDX-License-Identifier: Apache-2.0
// Values so large that they are written past the caches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "codegen/target.h"
#include "codegen/targets/cpu/machine.h"
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

/// What the graph gives for `x`. By plain pointers: there are millions of elements, and tests are
/// compiled without optimisation.
std::vector<Literal> expected(const Literal& x) {
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  std::vector<Literal> all(3, Literal(x.type()));
  const int32_t* from = x.data<int32_t>().data();
  int32_t *y = all[0].mutable_data<int32_t>().data(),
          *below = all[1].mutable_data<int32_t>().data(),
          *above = all[2].mutable_data<int32_t>().data();
  for (int64_t row = 0; row < rows; ++row) {
    // It counts up from 0 to 9972 and begins anew.
    const int32_t last = from[columns - 1], most = last < from[0] ? 9972 : last;
    for (int64_t i = 0; i < columns; ++i) {
      const int32_t value = *from++;
      *y++ = 3 * value + 1;
      *below++ = most - value;
      *above++ = most + 3 * value + 1;
    }
  }
  return all;
}

TEST(PastCachesCpu, AreRightWhereverVectorsBegin) {
  // Of whole lines; of rows that begin anywhere; of whole vectors and a rest.
  for (const int64_t columns : {1024, 1030, 1041}) {
    const int64_t rows = rows_of(columns);
    const GraphPtr graph = large_graph(columns, rows);
    Literal x(Type{DType::i32, {rows, columns}});
    int32_t next = 0;
    int32_t* const begin = x.mutable_data<int32_t>().data();
    for (int64_t i = 0; i < rows * columns; ++i) begin[i] = next++ % 9973;
    const std::vector<Literal> wanted = expected(x);
    for (const int threads : {1, 3}) {
      CompileReport report;
      const auto executable = compile(graph, targets::cpu, {.threads = threads}, report);
      std::vector<Tensor> arguments{Tensor(x)}, outputs;
      for (const Argument& output : executable->signature().outputs)
        outputs.emplace_back(output.type);
      executable->run(arguments, outputs);
      for (size_t i = 0; i < wanted.size(); ++i) {
        const Literal found = outputs[i].copy();
        EXPECT_EQ(std::memcmp(found.bytes().data(), wanted[i].bytes().data(), found.bytes().size()),
                  0)
            << "result " << i << ", " << columns << " columns, " << threads << " threads";
      }
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
      const float *x = found.data<float>().data(), *y = wanted.data<float>().data();
      int64_t wrong = 0;
      for (int64_t i = 0; i < wanted.elements(); ++i) wrong += !(std::abs(x[i] - y[i]) < 1e-5f);
      EXPECT_EQ(wrong, 0) << columns << " columns, " << threads << " threads";
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
