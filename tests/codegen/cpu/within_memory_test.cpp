// SPDX-License-Identifier: Apache-2.0
// Steps that need more memory than they may have.
#include "codegen/within_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/target.h"
#include "ir/text.h"
#include "runtime/memory_size.h"
#include "tests/passes/values.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

/// 64 steps of a state of 4 KiB, with an exponential of every element.
GraphPtr exponential_cell() {
  return parse_graph(R"(
    graph @cell(%x: f32[64,4,16,16], %s0: f32[4,16,16]) {
      %y, %s.end = scan %x.t in %x carry %s = %s0 {
        %s.1 = add(mul(%s, 0.5), mul(%x.t, exp(neg(square(%s)))))
        next %s = %s.1
        emit sum(mul(%s.1, tanh(%s.1))) {axes = [1]}
      }
      %loss = mean(square(%y)) {axes = [0,1,2]}
      %ds = grad %loss, %s0
      return %loss, %ds
    })");
}

/// 256 steps of a matrix of 4 KiB in both rows, whose recurrence is linear.
GraphPtr linear_cell() {
  return parse_graph(R"(
    graph @cell(%k: f32[256,2,32,1], %v: f32[256,2,1,32], %s0: f32[2,32,32]) {
      %y, %s.end = scan %k.t in %k, %v.t in %v carry %s = %s0 {
        %s.1 = add(mul(%s, 0.9), mul(%k.t, %v.t))
        next %s = %s.1
        emit sum(mul(%s.1, %k.t)) {axes = [1]}
      }
      %loss = mean(square(%y)) {axes = [0,1,2]}
      %ds, %dk = grad %loss, %s0, %k
      return %loss, %ds, %dk
    })");
}

struct Within {
  CompileReport report;
  std::vector<std::string> remarks;
  std::vector<Tensor> outputs;

  explicit Within(const CompileOptions& options, const GraphPtr& graph = exponential_cell()) {
    const auto executable = compile(graph, targets::cpu, options, report);
    for (const Remark& remark : report.remarks) {
      if (remark.pass == "memory") remarks.push_back(remark.text);
    }
    std::vector<Tensor> inputs;
    for (const Literal& input : testing::random_arguments(*graph, 3).inputs)
      inputs.emplace_back(input.converted(DType::f32));
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    executable->run(inputs, outputs);
  }
};

void expect_near(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted,
                 double absolute) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Literal right = wanted[i].copy(), value = found[i].copy();
    for (int64_t k = 0; k < right.elements(); ++k)
      EXPECT_NEAR(value.element(k), right.element(k), 1e-5 * std::abs(right.element(k)) + absolute);
  }
}

TEST(WithinMemoryCpu, StatesAreComputedAgain) {
  const Within whole({.threads = 2});
  const int64_t bytes = whole.report.peak_bytes;
  EXPECT_GT(bytes, 64 * 4096);
  EXPECT_THAT(whole.remarks, SizeIs(0));
  const Within part({.memory = bytes - 1, .threads = 2});
  EXPECT_LT(part.report.peak_bytes, bytes / 2);
  ASSERT_THAT(part.remarks, SizeIs(1));
  EXPECT_THAT(part.remarks[0], HasSubstr("with the states of every 8 steps saved alone"));
  expect_near(part.outputs, whole.outputs, 1e-9);
}

TEST(WithinMemoryCpu, ChunksOfStepsGiveWay) {
  const auto is_chunked = [](const Within& within) {
    return std::ranges::any_of(within.report.remarks, [](const Remark& remark) {
      return remark.text == "256 steps are computed in chunks of 32";
    });
  };
  const Within chunks({.threads = 2}, linear_cell());
  const Within steps({.recurrence = "steps", .threads = 2}, linear_cell());
  EXPECT_TRUE(is_chunked(chunks));
  EXPECT_FALSE(is_chunked(steps));
  expect_near(chunks.outputs, steps.outputs, 1e-7);  // another order of sums
  const Within part({.memory = chunks.report.peak_bytes - 1, .threads = 2}, linear_cell());
  EXPECT_LT(part.report.peak_bytes, chunks.report.peak_bytes);
  EXPECT_THAT(part.remarks, SizeIs(1));
  expect_near(part.outputs, steps.outputs, 1e-7);
}

TEST(WithinMemoryCpu, IsNotTriedWhereItFitsOrIsOff) {
  const int64_t bytes = Within({.threads = 2}).report.peak_bytes;
  for (const CompileOptions& options :
       {CompileOptions{.memory = bytes, .threads = 2},
        CompileOptions{.remat = "off", .memory = 1000, .threads = 2}}) {
    const Within within(options);
    EXPECT_EQ(within.report.peak_bytes, bytes);
    EXPECT_THAT(within.remarks, SizeIs(0));
  }
}

TEST(MemorySize, IsSomeOfTheMachines) {
  EXPECT_GT(memory_size(), int64_t{1} << 26);
  EXPECT_LT(memory_size(), int64_t{1} << 50);
}

}  // namespace
}  // namespace graphc::core
