// SPDX-License-Identifier: Apache-2.0
// What a step computes, computed for all steps at once.
#include "passes/batch.h"

#include <gtest/gtest.h>

#include "ir/scan.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"

namespace graphc::core::testing {
namespace {

constexpr std::string_view kForward = "simplify,cse,hoist,simplify,cse";
constexpr std::string_view kTraining =
    "simplify,cse,hoist,autodiff,expand,simplify,cse,hoist,simplify,cse";

/// One product of all steps for each head, in the loop's derivative as well.
TEST(Batch, ProductsOfStreamsWithMatricesOfHeadsLeaveTheLoop) {
  for (const char* product : {"matmul(%xh, %w)", "matmul(%xh, %w) {transpose_b = true}",
                              "matmul(transpose(%xh) {permutation = [0,2,1]}, %w) "
                              "{transpose_a = true}"}) {
    SCOPED_TRACE(product);
    const GraphPtr graph = parse_graph(fmt::format(
        R"(
      graph @f(%x: f32[6,3,8], %h0: f32[3,8], %w: f32[2,4,4]) {{
        %hs, %h.e = scan %x.t in %x carry %h = %h0 with %w {{
          %xh = transpose(reshape(%x.t) {{shape = [3,2,4]}}) {{permutation = [1,0,2]}}
          %p = transpose({}) {{permutation = [1,0,2]}}
          %h.1 = tanh(mul(add(%h, 1.), sigmoid(reshape(%p) {{shape = [3,8]}})))
          next %h = %h.1
          emit %h.1
        }}
        return %hs, %h.e
      }})",
        product));
    for (const bool trains : {false, true}) {
      const GraphPtr traced = trains ? with_gradients(graph) : graph;
      const GraphPtr result = after(traced, trains ? kTraining : kForward);
      expect_same_values(after(traced, "autodiff"), result, 1, 1e-9);
      for (const Node& node : result->nodes()) {
        if (!node.is(ops::scan)) continue;
        EXPECT_EQ(count_here(node.region(), "matmul"), 0) << print(*result);
      }
    }
  }
}

}  // namespace
}  // namespace graphc::core::testing
