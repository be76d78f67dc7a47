// SPDX-License-Identifier: Apache-2.0
// Sums over rows of what a loop computes for the matrix of each row: each row accumulates its own
// in the loop, which then gives no matrices of all steps.
#include "passes/accumulated.h"

#include <gtest/gtest.h>

#include "ir/scan.h"
#include "ir/text.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"

namespace graphc::core::testing {
namespace {

/// A loop whose rows, [3,2], carry a matrix, and that accumulates `term` from `start`.
GraphPtr accumulating(const std::string& type, const std::string& term, bool reverse = false) {
  return parse_graph(fmt::format(
      R"(
    graph @f(%k: f32[6,3,2,5], %v: f32[6,3,2,7], %s0: f32[3,2,5,7], %start: {}) {{
      %s.e, %a.e = scan {{reverse = {}}} %k.t in %k, %v.t in %v carry %s = %s0, %a = %start {{
        %kv = mul(reshape(%k.t) {{shape = [3,2,5,1]}}, reshape(%v.t) {{shape = [3,2,1,7]}})
        %s.1 = add(mul(%s, 0.5), %kv)
        %x = mul(%s.1, tanh(%s.1))
        next %s = %s.1, %a = {}
      }}
      return %s.e, %a.e
    }})",
      type, reverse, term));
}

struct Hoisted {
  GraphPtr graph;
  std::vector<Shape> carries;
  size_t emits = 0;
};

Hoisted hoisted(const GraphPtr& graph) {
  Hoisted result{after(graph, "hoist,simplify"), {}, 0};
  for (const Node& node : result.graph->nodes()) {
    if (!node.is(ops::scan)) continue;
    const Scan scan(node);
    for (const Value carry : scan.body_carries()) result.carries.push_back(carry.shape());
    result.emits += scan.emits().size();
  }
  return result;
}

const Shape kState{3, 2, 5, 7};

/// The loop carries the state and, for the sum, what each row accumulates.
void expect_rows(const GraphPtr& graph, const Shape& accumulated) {
  const Hoisted found = hoisted(graph);
  expect_same_values(graph, found.graph, 3, 1e-9, {-1, 1, 7});
  EXPECT_EQ(found.emits, 0u) << print(*found.graph);
  EXPECT_EQ(found.carries, (std::vector<Shape>{kState, accumulated})) << print(*found.graph);
}

TEST(Accumulated, EachRowAddsUpItsOwnMatrix) {
  expect_rows(accumulating("f32[5,7]", "add(%a, sum(%x) {axes = [0,1]})"), kState);
  expect_rows(accumulating("f32[2,5,7]", "add(sum(%x) {axes = [0]}, %a)", true), kState);
  expect_rows(accumulating("f32[3,1,5,7]", "add(%a, sum(%x) {axes = [1], keep = true})"), kState);
}

TEST(Accumulated, WithoutTheAxesThatAreSummedWithinRows) {
  expect_rows(accumulating("f32[7]", "add(%a, sum(%x) {axes = [0,1,2]})"), {3, 2, 7});
  expect_rows(accumulating("f32[2,5]", "add(%a, sum(%x) {axes = [0,3]})", true), {3, 2, 5});
  expect_rows(accumulating("f32[]", "add(%a, sum(%x) {axes = [0,1,2,3]})"), {3, 2, 1});
  // What is done with the sum is done once, behind the loop.
  expect_rows(accumulating("f32[1,7]",
                           "add(%a, reshape(mul(sum(%x) {axes = [0,1,2]}, 3.)) {shape = [1,7]})"),
              {3, 2, 7});
}

TEST(Accumulated, OfSeveralTermsEachIsACarryOfItsOwn) {
  const GraphPtr graph = accumulating(
      "f32[7]", "add(add(%a, sum(%x) {axes = [0,1,2]}), neg(sum(mul(%x, %s)) {axes = [0,1,2]}))");
  const Hoisted found = hoisted(graph);
  expect_same_values(graph, found.graph, 3, 1e-9, {-1, 1, 7});
  EXPECT_EQ(found.emits, 0u) << print(*found.graph);
  EXPECT_EQ(found.carries, (std::vector<Shape>{kState, {3, 2, 7}, {3, 2, 7}}));
}

TEST(Accumulated, SumsWithinRowsStayInTheLoop) {
  expect_rows(accumulating("f32[3,2,7]", "add(%a, sum(%x) {axes = [2]})"), {3, 2, 7});
}

/// A sum over rows of streams needs nothing of the loop.
TEST(Accumulated, SumsOfStreamsAreTakenOverAllSteps) {
  const GraphPtr graph = accumulating("f32[5,7]", "add(%a, sum(%kv) {axes = [0,1]})");
  const Hoisted found = hoisted(graph);
  expect_same_values(graph, found.graph, 3, 1e-9, {-1, 1, 7});
  EXPECT_EQ(found.carries, (std::vector<Shape>{kState})) << print(*found.graph);
}

}  // namespace
}  // namespace graphc::core::testing
