// SPDX-License-Identifier: Apache-2.0
// Which updates of tables are done by rows, and that they give what the whole update gives.
#include <gtest/gtest.h>

#include "ir/op.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "tests/passes/values.h"

namespace graphc::core::testing {
namespace {

constexpr Ranges kIndices{0.5, 2, 9};

/// A step whose gradient of %table is %g, and what is done with it.
GraphPtr step(std::string_view update, std::string_view states = "%table: f32[9,3]") {
  return parse_graph(fmt::format(R"(
    graph @step(%i: i32[2,3], %rows: f32[2,3,3], %rate: f32[]) state ({}) {{
      %zero = constant {{dtype = f32, shape = [9,3], value = 0.}}
      %g = scatter_add %zero, %i, %rows
      {}
    }})",
                                 states, update));
}

/// Expects that the pass changes the graph, and that nothing is computed for the whole table but
/// what is written into it.
void expect_by_rows(const GraphPtr& graph) {
  const GraphPtr result = after(graph, "sparse-rows,simplify");
  EXPECT_EQ(count(*result, "scatter_add"), 0);
  EXPECT_EQ(count(*result, "merge_rows"), 1);
  for (const Node& node : result->nodes()) {
    if (node.is(ops::input) || node.is(ops::state) || node.is(ops::scatter)) continue;
    EXPECT_NE(node.types[0].shape, (Shape{9, 3})) << print(*result);
  }
  for (unsigned seed : {1u, 2u, 3u}) expect_same_values(graph, result, seed, 1e-12, kIndices);
}

void expect_all_rows(const GraphPtr& graph, std::string_view reason) {
  const PipelineResult result = run_pipeline(graph, parse_pipeline("sparse-rows"));
  EXPECT_EQ(result.graph, graph);
  ASSERT_EQ(result.remarks.all().size(), 1u);
  EXPECT_EQ(result.remarks.all()[0].text, "all 9 rows are updated: " + std::string(reason));
}

TEST(SparseRows, DoGradientDescent) {
  expect_by_rows(step("next %table = sub(%table, mul(%rate, %g))"));
  expect_by_rows(step("next %table = add(mul(neg(%g), %rate), %table)"));
}

TEST(SparseRows, DoClippingByTheNorm) {
  expect_by_rows(step(R"(
    %norm = sqrt(sum(square(%g)) {axes = [0,1]})
    %clip = div(2., maximum(%norm, 2.))
    next %table = sub(%table, mul(%rate, mul(%g, %clip)))
    return %norm)"));
}

TEST(SparseRows, DoAdagradWhoseSlotGrowsWhereThereIsAGradient) {
  expect_by_rows(step(R"(
    %s.1 = add %s, square(%g)
    next %table = sub(%table, div(mul(%rate, %g), sqrt(%s.1))), %s = %s.1)",
                      "%table: f32[9,3], %s: f32[9,3]"));
}

TEST(SparseRows, DoNotDoAMomentumThatDecaysEverywhere) {
  expect_all_rows(step(R"(
    %m.1 = add(mul(%m, 0.9), %g)
    next %table = sub(%table, mul(%rate, %m.1)), %m = %m.1)",
                       "%table: f32[9,3], %m: f32[9,3]"),
                  "%table changes where the gradient is zero");
}

TEST(SparseRows, DoNotDoWeightDecay) {
  expect_all_rows(step("next %table = sub(%table, mul(%rate, add(%g, mul(0.1, %table))))"),
                  "%table changes where the gradient is zero");
}

TEST(SparseRows, DoNotDoAGradientThatIsAResult) {
  expect_all_rows(step(R"(
    next %table = sub(%table, mul(%rate, %g))
    return %g)"),
                  "%g is a result");
}

TEST(SparseRows, DoNotDoASumOfWhatIsNotZeroElsewhere) {
  expect_all_rows(step(R"(
    %sum = sum(exp(%g)) {axes = [0,1]}
    next %table = sub(%table, mul(%sum, %g))
    return %sum)"),
                  "%sum sums what is not zero without a gradient");
}

TEST(SparseRows, DoNotDoATableThatIsAlsoMultiplied) {
  expect_all_rows(step(R"(
    next %table = sub(%table, mul(%rate, %g))
    return matmul(%g, %g) {transpose_b = true})"),
                  "%matmul reads the gradient as a whole");
}

TEST(SparseRows, LeaveATableThatIsSmallerThanItsIndicesAlone) {
  const GraphPtr graph = parse_graph(R"(
    graph @step(%i: i32[6], %rows: f32[6,3]) state (%table: f32[4,3]) {
      %zero = constant {dtype = f32, shape = [4,3], value = 0.}
      next %table = sub(%table, scatter_add(%zero, %i, %rows))
    })");
  EXPECT_EQ(after(graph, "sparse-rows"), graph);
}

}  // namespace
}  // namespace graphc::core::testing
