// SPDX-License-Identifier: Apache-2.0
// The mode of floating-point instructions: a step has its own, and leaves that of its threads.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <cfloat>
#include <random>

#include "codegen/targets/cpu/compiled_plan.h"
#include "ir/denormals.h"
#include "passes/pipeline.h"
#include "tests/codegen/cpu/compiled.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::Compiled;
using testing::error_of;
using Literals = std::vector<Literal>;

constexpr uint32_t kUsual = 0x1f80;      // of MXCSR, in a new process
constexpr uint32_t kUpwards = 0x5f80;    // rounding
constexpr uint32_t kDownwards = 0x3fbf;  // rounding, and every exception flag

constexpr std::string_view kStep = R"(
  graph @f(%x: f32[64,32], %w: f32[32,32], %rows: i32[8]) {
    return matmul(%x, %w), tanh(%x), gather(%x, %rows)
  })";

Literals arguments_of_step(int32_t row) {
  Literals all{Literal(Type{DType::f32, {64, 32}}), Literal(Type{DType::f32, {32, 32}})};
  std::mt19937 random(5);
  for (Literal& each : all) {
    for (float& x : each.mutable_data<float>())
      x = std::uniform_real_distribution<float>(-1, 1)(random);
  }
  all.push_back(Literal(std::vector<int32_t>(8, row), {8}));
  return all;
}

/// Sets the mode of the calling thread for the time it lives.
class Mode {
 public:
  explicit Mode(uint32_t mode) { _mm_setcsr(mode); }
  ~Mode() { _mm_setcsr(before_); }

 private:
  const uint32_t before_ = _mm_getcsr();
};

TEST(StepModeCpu, TheCallersModeIsAsBeforeAndChangesNothing) {
  for (int threads : {1, 2}) {
    Compiled step(kStep, threads);
    const Literals right = arguments_of_step(7), wrong = arguments_of_step(64);
    const Literals wanted = step.run(right);
    for (uint32_t mode : {kUsual, kUpwards, kDownwards, kUsual | 0x8000, kUsual | 0x0040}) {
      Literals found;
      uint32_t after = 0, after_failure = 0;
      std::string message;
      {
        const Mode set(mode);
        found = step.run(right);
        after = _mm_getcsr();
        _mm_setcsr(mode);
        message = error_of(ErrorKind::input, [&] { step.run(wrong); });
        after_failure = _mm_getcsr();
      }
      // What the test itself rounds in between sets the flag for that.
      EXPECT_EQ(after | 0x20, mode | 0x20);
      EXPECT_EQ(after_failure | 0x20, mode | 0x20);
      EXPECT_EQ(message, "gather: index 64 at position 0 is outside a table of 64 rows");
      EXPECT_TRUE(found == wanted) << fmt::format("mode {:x}", mode);
    }
  }
}

TEST(StepModeCpu, TheModeOfWorkersIsAsBeforeToo) {
  std::shared_ptr<ThreadTeam> team;
  {
    const Mode set(kUpwards);  // which new threads inherit
    team = std::make_shared<ThreadTeam>(3);
  }
  const auto modes = [&] {
    std::vector<uint32_t> all(3);
    team->run([&](int thread) { all[size_t(thread)] = _mm_getcsr(); });
    return all;
  };
  const std::vector<uint32_t> before = modes();
  EXPECT_EQ(before[1] & 0x6000, kUpwards & 0x6000);
  const GraphPtr graph = parse_graph(kStep);
  const GraphPtr kernels = run_pipeline(graph, kernel_pipeline("fused")).graph;
  cpu::CompiledPlan plan(*kernels, cpu::host_cpu(), team);
  Literals results;
  for (Value result : graph->results()) results.emplace_back(result.type());
  for (int32_t row : {7, 64}) {
    Literals arguments = arguments_of_step(row);
    std::vector<void*> in, out;
    for (Literal& argument : arguments) in.push_back(argument.mutable_bytes().data());
    for (Literal& result : results) out.push_back(result.mutable_bytes().data());
    if (row == 7) {
      plan.run(in, {}, out);
      EXPECT_TRUE(results == Compiled(kStep, 1).run(arguments));
    } else {
      EXPECT_THROW(plan.run(in, {}, out), Error);
    }
    const std::vector<uint32_t> after = modes();
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(after[i] | 0x20, before[i] | 0x20) << "thread " << i;
  }
}

TEST(StepModeCpu, GraphsAreCompiledAndEvaluatedInTheUsualMode) {
  const GraphPtr graph = parse_graph(
      "graph @f(%x: f32[3]) { return add(%x, log(0.)), div(%x, 3.), mul(%x, div(1., 3.)) }");
  const Literals x{Literal(std::vector<float>{1, 2, 5}, {3})};
  const auto results_of = [&](const Target& target) {
    CompileReport report;
    const auto executable = compile(graph, target, {}, report);
    std::vector<Tensor> inputs(x.begin(), x.end()), outputs;
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    executable->run(inputs, outputs);
    return Literals{outputs[0].copy(), outputs[1].copy(), outputs[2].copy()};
  };
  for (const Target* target : {&targets::cpu, &targets::reference}) {
    const Literals wanted = results_of(*target);
    EXPECT_EQ(wanted[0].element(0), -HUGE_VAL);
    // The last would be ended by the logarithm of 0.
    for (uint32_t mode : {kUpwards, kDownwards, kUsual & ~uint32_t{_MM_MASK_DIV_ZERO}}) {
      Literals found;
      {
        const Mode set(mode);
        found = results_of(*target);
      }
      EXPECT_TRUE(found == wanted) << fmt::format("{}, mode {:x}", target->name, mode);
    }
  }
}

TEST(DenormalsFlushed, LastAsLongAsTheScope) {
  volatile float least = FLT_MIN, half = 0.5f;
  const Mode set(kUpwards);
  {
    const DenormalsFlushed flushed;
    EXPECT_EQ(least * half, 0);
    EXPECT_EQ(_mm_getcsr() & ~0x3fu, 0x9fc0u);
  }
  EXPECT_GT(least * half, 0);
  EXPECT_EQ(_mm_getcsr() & ~0x3fu, kUpwards);
}

}  // namespace
}  // namespace graphc::core
