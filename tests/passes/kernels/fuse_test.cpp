// SPDX-License-Identifier: Apache-2.0
// Why a loop is not one recurrent kernel, and what fuse refuses.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
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

/// Kernels of a graph that was fused before, as the text of `graphc opt` may be: none in another.
TEST(Fuse, FormsTheKernelsOfAFusedGraphAgain) {
  for (const char* text : {R"(
    graph @map(%x: f32[3,4]) { return tanh(add(%x, 1.)) })",
                           R"(
    graph @product(%x: f32[3,4], %w: f32[4,5]) { return tanh(matmul(exp(%x), %w)), exp(%x) })",
                           R"(
    graph @recurrent(%x: f32[5,8,6], %h0: f32[8,6], %u: f32[6,6]) {
      %y, %h = scan %t in %x carry %c = %h0 with %u {
        %n = tanh(add(matmul(%c, %u), %t))
        next %c = %n
        emit %n
      }
      return %y, exp(%h)
    })",
                           R"(
    graph @loop(%x: f32[5,8], %h0: f32[8]) {
      %y, %h = scan %t in %x carry %c = %h0 {
        %n = sub(%t, max(tanh(add(%c, %t))) {axes = [0], keep = true})
        next %c = %n
        emit cumsum(%n) {axis = 0}
      }
      return %y, %h
    })"}) {
    const auto fused = [](const GraphPtr& graph, std::string_view passes) {
      return run_pipeline(graph, parse_pipeline(passes)).graph;
    };
    const GraphPtr once = fused(parse_graph(text), "reductions,fuse");
    EXPECT_EQ(print(*fused(once, "fuse")), print(*once));
    EXPECT_EQ(print(*fused(parse_graph(print(*once)), "fuse")), print(*once));
    EXPECT_EQ(print(*fused(fused(once, "fuse{single=true}"), "fuse")), print(*once));
  }
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
}  // namespace graphc::core::testing
