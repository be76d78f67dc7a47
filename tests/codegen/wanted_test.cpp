// SPDX-License-Identifier: Apache-2.0
// What random graphs are compared with takes what rounding makes of numbers that cancel, and
// nothing beyond it.
#include "tests/codegen/wanted.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace graphc::core::testing {
namespace {

/// Whether each number is taken for the only element of the only result.
std::vector<bool> taken(const char* text, const std::vector<double>& input,
                        const std::vector<double>& found) {
  const GraphPtr graph = parse(text).graphs[0];
  Literal argument(Type{DType::f64, graph->inputs()[0].shape()});
  std::ranges::copy(input, argument.mutable_data<double>().begin());
  const Call call{{argument.converted(DType::f32)}, {}};
  Wanted wanted(graph, Numbers::scaled);
  std::vector<bool> answers;
  for (const double number : found) {
    Literal result(Type{DType::f64, {1}});
    result.mutable_data<double>()[0] = number;
    answers.push_back(wanted.fault(call, {{result.converted(DType::f32)}, {}}).empty());
  }
  return answers;
}

// In f32 the tanh of a small number is the number: 0, or one unit in the last place.
TEST(Wanted, TakesARoundingWhereTwoNumbersCancel) {
  EXPECT_EQ(taken(R"(graph @g (%x: f32[1]) {
                       %tanh = tanh %x : f32[1]
                       %sub = sub %tanh, %x : f32[1]
                       return %sub
                     })",
                  {3e-6}, {0, 2.3e-13, -2.3e-13, 1e-11, 3e-6}),
            (std::vector<bool>{true, true, true, false, false}));
}

TEST(Wanted, TakesARoundingWhereASumCancels) {
  EXPECT_EQ(taken(R"(graph @g (%x: f32[4]) {
                       %sum = sum %x {axes = [0], keep = true} : f32[1]
                       return %sum
                     })",
                  {0.3, 1e-4, -0.3, -1e-4}, {0, 6e-8, -3e-8, 1e-5}),
            (std::vector<bool>{true, true, true, false}));
}

TEST(Wanted, TakesARoundingWhereStepsOfALoopCancel) {
  EXPECT_EQ(taken(R"(graph @g (%x: f32[1]) {
                       %h.end = scan {steps = 3} carry %h = %x {
                         %tanh = tanh %h : f32[1]
                         %sub = sub %tanh, %h : f32[1]
                         %add = add %h, %sub : f32[1]
                         next %h = %add
                       } : f32[1]
                       %sub = sub %h.end, %x : f32[1]
                       return %sub
                     })",
                  {3e-6}, {0, 4.6e-13, 1e-10}),
            (std::vector<bool>{true, true, false}));
}

}  // namespace
}  // namespace graphc::core::testing
