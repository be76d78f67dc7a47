// SPDX-License-Identifier: Apache-2.0
// Values of as many axes as a shape has: passes that would give them another one leave them alone,
// and say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/passes/values.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;

/// The remarks of the passes on a graph whose values they keep.
std::string remarks_of(const char* text, const std::string& passes) {
  const GraphPtr graph = parse_graph(text);
  const PipelineResult result = run_pipeline(graph, parse_pipeline(passes));
  expect_same_values(after(graph, "autodiff,expand"), after(result.graph, "autodiff,expand"), 3,
                     1e-9);
  std::string all;
  for (const Remark& remark : result.remarks.all()) all += remark.text + "\n";
  return all;
}

TEST(ManyAxes, OfACounterThatIsNoStream) {
  remarks_of(R"(graph @g(%x: f32[3,2], %c0: i32[1,1,1,1,1,1,1,1], %h0: f32[2]) {
    %y, %c.e, %h.e = scan %x.t in %x carry %c = %c0, %h = %h0 {
      %n = cast(reshape(%c) {shape = [1]}) {dtype = f32}
      next %c = add(%c, 2), %h = add(%h, mul(%x.t, %n))
      emit %h
    }
    return %y, %h.e
  })",
             "simplify,cse");
}

constexpr const char* kLoopOfManyAxes =
    R"(graph @g(%x: f32[6,1,2,1,1,2,1,3], %h0: f32[1,2,1,1,2,1,3]) {
    %y, %h.end = scan {SAVE} %x.t in %x carry %h = %h0 {
      %n = tanh(add(mul(%h, 0.5), %x.t))
      next %h = %n
      emit %n
    }
    %dx = grad(sum(square(%y)) {axes = [0,1,2,3,4,5,6,7]}, %x)
    return %y, %dx
  })";

std::string loop_of_many_axes(const std::string& save) {
  std::string text = kLoopOfManyAxes;
  return text.replace(text.find("{SAVE}"), 6, save);
}

TEST(ManyAxes, OfALoopThatGoesAStepAtATime) {
  EXPECT_THAT(remarks_of(loop_of_many_axes("").c_str(), "unroll{steps=2}"),
              HasSubstr("a step at a time, and not 2: blocks of steps are one more axis"));
  EXPECT_THAT(remarks_of(loop_of_many_axes("").c_str(), "unroll{full}"),
              HasSubstr("wrote out 6 steps"));
}

TEST(ManyAxes, OfALoopWhoseDerivativeKeepsAllCarries) {
  for (const auto& [save, passes] :
       {std::pair{"", "remat{steps=2}"}, {"{save_every = 2}", "remat"}})
    EXPECT_THAT(remarks_of(loop_of_many_axes(save).c_str(), passes),
                HasSubstr("keeps the carries of every step, and not of every 2: blocks of steps"));
}

TEST(ManyAxes, OfAProductThatIsKeptWhole) {
  EXPECT_THAT(remarks_of(R"(graph @g(%x: f32[64,4], %w: f32[4,12], %m: f32[64,1,1,1,1,1,3,4]) {
                           %z = reshape(matmul(%x, %w)) {shape = [64,1,1,1,1,1,3,4]}
                           return sum(mul(tanh(%z), %m)) {axes = [1,2,3,4,5,6,7]}
                         })",
                         "chunk{bytes=1024,rows=8}"),
              HasSubstr("kept whole: a value beside it has 8 axes"));
}

}  // namespace
}  // namespace graphc::core::testing
