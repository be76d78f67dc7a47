// SPDX-License-Identifier: Apache-2.0
// Why a loop is not one recurrent kernel, and what fuse refuses.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/testing/expect_error.h"

namespace graphc::testing {
namespace {

/// What fuse says about the loops of a graph.
std::string reasons(std::string_view text) {
  std::string said;
  const PipelineResult result = run_pipeline(parse_graph(text), parse_pipeline("reductions,fuse"));
  for (const Remark& remark : result.remarks.all()) said += remark.text + "\n";
  return said;
}

TEST(Fuse, NamesTheMatrixThatChangesWithEachStep) {
  EXPECT_EQ(reasons(R"(
    graph @stream(%h0: f32[8,16], %a: f32[5,16,16]) {
      %h = scan %at in %a carry %c = %h0 { next %c = tanh(matmul(%c, %at)) }
      return %h
    })"),
            "a loop, not one recurrent kernel: %matmul (matmul): its matrix %at changes with each "
            "step\n");
  EXPECT_EQ(reasons(R"(
    graph @carry(%h0: f32[4,4], %b: f32[4,4]) {
      %h = scan {steps = 3} carry %c = %h0 with %b {
        next %c = tanh(matmul(%c, %b) {transpose_a = true})
      }
      return %h
    })"),
            "a loop, not one recurrent kernel: %matmul (matmul): its matrix %c changes with each "
            "step\n");
  EXPECT_EQ(reasons(R"(
    graph @capture(%h0: f32[8,16], %u: f32[16,16]) {
      %h = scan {steps = 3} carry %c = %h0 with %u { next %c = tanh(matmul(%c, %u)) }
      return %h
    })"),
            "");
}

TEST(Fuse, NamesTheValueWithoutElements) {
  EXPECT_EQ(reasons(R"(
    graph @f(%x: f32[3,2,4], %h0: f32[2,4]) {
      %y, %e = scan %t in %x carry %h = %h0 {
        %n = tanh(add(%h, %t))
        next %h = %n
        emit slice(%n) {axis = 1, start = 2, limit = 2}
      }
      return %y, %e
    })"),
            "a loop, not one recurrent kernel: %slice has no elements\n");
}

TEST(Fuse, RefusesAGraphThatAsksForGradients) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[3]) {
      %l = sum(square(%x)) {axes = [0]}
      return grad(%l, %x)
    })");
  EXPECT_EQ(error_of(ErrorKind::usage, [&] { run_pipeline(graph, parse_pipeline("fuse")); }),
            "fuse: kernels have no derivatives: run autodiff first");
}

}  // namespace
}  // namespace graphc::testing
