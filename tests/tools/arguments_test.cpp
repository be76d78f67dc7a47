// SPDX-License-Identifier: Apache-2.0
// What graphc check draws: integers that are indices where a graph uses them as such, weights by
// the terms of their products.
#include "tools/commands/arguments.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "tools/commands/compare.h"
#include "tools/commands/fan_in.h"
#include "tools/commands/wanted_runs.h"

namespace graphc::core::commands {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> limits(const std::string& text) { return index_limits(*parse_graph(text)); }

TEST(IndexLimits, OfTables) {
  EXPECT_THAT(limits("graph @f(%t: f32[5,2], %i: i32[3]) { return gather(%t, %i) }"),
              ElementsAre(0, 5));
  EXPECT_THAT(limits(R"(graph @f(%i: i32[2], %j: i64[4], %n: i32[2]) state (%w: f32[3,4]) {
                %part = slice(reshape(%j) {shape = [2,2]}) {axis = 0, start = 1, limit = 2}
                next %w = scatter_add(%w, %i, gather(%w, %i))
                return gather(%w, %part), add(%n, 1)
              })"),
              ElementsAre(3, 3, 0, 0));
}

TEST(IndexLimits, TheSmallestTableCounts) {
  EXPECT_THAT(limits(R"(graph @f(%a: f32[7], %b: f32[4], %i: i32[3]) {
                return gather(%a, %i), gather(%b, %i)
              })"),
              ElementsAre(0, 0, 4));
}

TEST(IndexLimits, OfIndicesInTables) {
  EXPECT_THAT(limits(R"(graph @f(%t: f32[6], %chosen: i32[9], %i: i32[3]) {
                return gather(%t, gather(%chosen, %i))
              })"),
              ElementsAre(0, 6, 9));
}

TEST(IndexLimits, ThroughLoopsAndWhatTheyCarry) {
  EXPECT_THAT(limits(R"(graph @f(%x: i32[4,2], %t: f32[3,8], %a: i32[2], %b: i32[2]) {
                %y, %p.e, %q.e = scan %i in %x carry %p = %a, %q = %b with %t {
                  next %p = %q, %q = %i
                  emit gather(%t, %p)
                }
                return %y
              })"),
              ElementsAre(3, 0, 3, 3));
}

TEST(IndexLimits, OfCompositesAndStates) {
  EXPECT_THAT(limits(R"(graph @f(%i: i32[2], %t: f32[3,8]) state (%last: i32[2]) {
                next %last = %i
                return gather(%t, %last)
              })"),
              ElementsAre(3, 0, 3));
}

TEST(IndexLimits, OfLabels) {
  EXPECT_THAT(limits("graph @f(%x: f32[2,5], %i: i32[2]) { return cross_entropy(%x, %i) }"),
              ElementsAre(0, 5));
  EXPECT_THAT(limits("graph @f(%i: i32[2]) { return one_hot(%i) {depth = 3} }"), ElementsAre(3));
}

std::vector<int64_t> terms(const std::string& text) { return fan_ins(*parse_graph(text)); }

TEST(FanIns, OfTheFactorThatIsAState) {
  EXPECT_THAT(terms(R"(graph @f(%x: f32[7,5]) state (%w: f32[5,3], %b: f32[3], %v: f32[7,2]) {
                %y = add(matmul(%x, %w), %b)
                return matmul(%v, %y) {transpose_a = true}, matmul(%v, %y) {transpose_a = true}
              })"),
              ElementsAre(0, 5, 0, 7));
  EXPECT_THAT(terms(R"(graph @f(%x: f32[5,3]) state (%w: f32[4,5]) {
                return matmul(%w, relu(matmul(transpose(%w) {permutation = [1,0]}, matmul(%w, %x))))
              })"),
              ElementsAre(0, 5));
}

TEST(FanIns, OfTheSecondOfTwoInputsAndWhatIsMadeOfLeaves) {
  EXPECT_THAT(terms(R"(graph @f(%x: f32[7,5], %v: f32[6,5], %gain: f32[]) {
                return matmul(%x, mul(%v, %gain)) {transpose_b = true}
              })"),
              ElementsAre(0, 5, 5));
}

TEST(FanIns, OfWhatALoopCapturesNotOfWhatItSlicesOrCarries) {
  EXPECT_THAT(terms(R"(graph @f(%x: f32[9,2,5], %h0: f32[2,4], %u: f32[4,4]) state (%w: f32[5,4]) {
                %y, %h.end = scan %x.t in %x carry %h = %h0 with %w, %u {
                  %h.1 = tanh(add(matmul(%x.t, %w), matmul(%h, %u)))
                  next %h = %h.1
                  emit %h.1
                }
                return %y
              })"),
              ElementsAre(0, 0, 4, 5));
  EXPECT_THAT(terms(R"(graph @f(%x: f32[9,2,5], %h: f32[2,4], %c: f32[2,4])
                  state (%w: f32[5,16], %u: f32[4,16], %b: f32[16]) {
                %y, %h.end, %c.end = lstm(%x, %h, %c, %w, %u, %b)
                return %y
              })"),
              ElementsAre(0, 0, 0, 5, 4, 0));
}

TEST(DrawnArguments, AreSmallWhereTheyAreWeightsAndAreWhatIsGiven) {
  const GraphPtr graph = parse_graph(R"(graph @f(%x: f32[40,100]) state (%w: f32[100,40],
      %k: f32[2]) { return matmul(%x, %w), %k })");
  const Drawing drawing = drawing_of(*graph, *graph, {.scale = 0.5, .given = {{"k", "3"}}});
  const Arguments drawn = draw_arguments(*graph, 1, drawing);
  EXPECT_LE(magnitude(drawn.inputs[0]), 0.5);
  EXPECT_GT(magnitude(drawn.inputs[0]), 0.45);
  EXPECT_LE(magnitude(drawn.states.at("w")), 0.05);
  EXPECT_GT(magnitude(drawn.states.at("w")), 0.045);
  EXPECT_EQ(drawn.states.at("k").to_text(), "[3, 3]");
}

TEST(DrawnArguments, StayBelowTheirLimits) {
  const auto largest = [](const Literal& value) { return magnitude(value); };
  EXPECT_EQ(largest(draw({DType::i32, {1000}}, 1, 5)), 4);
  EXPECT_EQ(largest(draw({DType::i32, {1000}}, 1, 1)), 0);
  EXPECT_EQ(largest(draw({DType::boolean, {1000}}, 1)), 1);
  EXPECT_EQ(largest(draw({DType::boolean, {1000}}, 1, 1)), 0);
  EXPECT_EQ(largest(draw({DType::u8, {10000}}, 1, 1000)), 255);
  EXPECT_LE(largest(draw({DType::f32, {1000}}, 1)), 1);
  EXPECT_GT(largest(draw({DType::f32, {1000}}, 1)), 0.9);
}

TEST(WantedRuns, GoOnWithTheStatesThatTheRunBeforeLeft) {
  const GraphPtr graph = parse_graph(R"(graph @f(%x: f32[2]) state (%s: f32[2], %k: f32[2]) {
    next %s = add(%s, %x)
    return mul(%s, %k)
  })");
  WantedRuns runs(*graph, drawing_of(*graph, *graph), 3, 1, Precision::f32, 0x1p-24);
  ASSERT_EQ(runs.runs(), 3);
  for (int64_t run = 0; run < 3; ++run) {
    const auto& before = run == 0 ? runs.first_states() : runs.wanted(run - 1).states;
    const Evaluation alone = evaluate(*graph, runs.inputs(run), before);
    EXPECT_TRUE(alone.results[0] == runs.wanted(run).results[0]);
    EXPECT_TRUE(alone.next.at("s") == runs.wanted(run).states.at("s"));
    EXPECT_TRUE(runs.first_states().at("k") == runs.wanted(run).states.at("k"));
    EXPECT_EQ(runs.forms(run).size(), 3u);
  }
  EXPECT_FALSE(runs.inputs(0)[0] == runs.inputs(1)[0]);
}

TEST(WantedRuns, ComputedIndicesStayInTheirTables) {
  const GraphPtr graph = parse_graph(R"(graph @f(%t: f32[4], %i: i32[50]) {
    return gather(%t, add(%i, 3))
  })");
  WantedRuns runs(*graph, drawing_of(*graph, *graph), 2, 1, Precision::f32, 0x1p-24);
  EXPECT_EQ(magnitude(runs.inputs(1)[1]), 0);
}

}  // namespace
}  // namespace graphc::core::commands
