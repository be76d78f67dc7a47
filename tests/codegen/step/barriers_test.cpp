// SPDX-License-Identifier: Apache-2.0
// Where workers meet. That no barrier is missing, replays of plans show (replay_plan_test.cpp);
// here none stands where nobody needs it.
#include "codegen/step/barriers.h"

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "ir/text.h"
#include "tests/codegen/replay_plan.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core {
namespace {

Plan basic_step(const std::string& text, int workers, const std::string& variant = "basic") {
  CompileReport report;
  return make_plan(*form_kernels_for(parse_graph(text), {.variant = variant}, report),
                   testing::machine_like(0, workers));
}

/// Of a step in which each op is a phase.
void expect_barriers(const std::string& text, int phases, int barriers) {
  for (const int workers : {1, 2, 3, 16}) {
    const Plan plan = basic_step(text, workers);
    const BarrierCount found = count_barriers(plan);
    EXPECT_EQ(found.phases, phases) << print(plan);
    EXPECT_EQ(found.barriers, workers == 1 ? 0 : barriers) << print(plan);
  }
}

TEST(Barriers, AreLeftOutWhereWorkersReadTheirOwnRows) {
  expect_barriers("graph @f(%a: f32[48,64]) { return tanh(exp(%a)) }", 2, 0);
  expect_barriers("graph @f(%a: f32[48,64], %b: f32[64]) { return mul(add(tanh(%a), %b), %a) }", 3,
                  0);
  // Both are read and nothing is written.
  expect_barriers(
      "graph @f(%a: f32[48,64]) { return tanh(%a), exp(transpose(%a) {permutation = [1, 0]}) }", 2,
      0);
}

TEST(Barriers, StandWhereAWorkerReadsWhatAnotherOneWrites) {
  expect_barriers(
      "graph @f(%a: f32[48,48]) { return tanh(transpose(exp(%a)) {permutation = [1, 0]}) }", 2, 1);
  // Columns are summed by those who own them, and read by all.
  expect_barriers("graph @f(%a: f32[48,64]) { return mul(%a, sum(exp(%a)) {axes = [0]}) }", 3, 2);
}

TEST(Barriers, StandBehindTables) {
  // A wrong index is found by one worker: no other may have gone on.
  expect_barriers("graph @f(%t: f32[9,8], %i: i32[48]) { return tanh(gather(%t, %i)) }", 2, 1);
}

TEST(Barriers, OfLoopsAreThoseOfTheirSteps) {
  // The sum over rows makes each step two phases, and each needs what the others have done.
  const std::string text =
      "graph @f(%x: f32[5,48,64], %a: f32[48,64]) { %y, %h.e = scan %t in %x carry %h = %a "
      "{ %n = mul(%t, sum(%h) {axes = [0], keep = true}) next %h = %n emit %n } return %y }";
  const Plan plan = basic_step(text, 4, "fused");
  EXPECT_EQ(count_barriers(plan).phases, 2) << print(plan);
  EXPECT_EQ(count_barriers(plan).barriers, 2) << print(plan);
}

/// Of the steps of a long loop some are gone through: what the others access counts as well.
TEST(Barriers, BehindALongLoopAreForAllOfItsSteps) {
  // The columns are one worker's, in each of 18 steps; then each worker reads some of the steps.
  const std::string text =
      "graph @f(%x: f32[18,3,5], %y: f32[4,3], %c: f32[18,5,4]) { return add(%c, matmul(%x, %y) "
      "{transpose_a = true, transpose_b = true}), sum(%x) {axes = [0]} }";
  for (const char* variant : {"fused", "basic", "unrolled"}) {
    CompileReport report;
    const GraphPtr kernels = form_kernels_for(parse_graph(text), {.variant = variant}, report);
    for (const int workers : {2, 3})
      EXPECT_EQ(testing::replay(*kernels, testing::machine_like(0, workers)), "");
  }
  for (const std::string& cell : testing::wide_cells()) {
    const GraphPtr graph = testing::wide_layer({cell, 11, 5, 7}, testing::Derivatives::with);
    for (const char* variant : {"fused", "basic"}) {
      CompileReport report;
      const GraphPtr kernels = form_kernels_for(graph, {.variant = variant}, report);
      EXPECT_EQ(testing::replay(*kernels, testing::machine_like(1, 2)), "") << cell;
    }
  }
}

}  // namespace
}  // namespace graphc::core
