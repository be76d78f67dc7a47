// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/simplify_rules.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"

namespace graphc::core::testing {
namespace {

/// The graph of a rule for operands of [2,3]; bool for parameters named %c.
GraphPtr graph_of(std::string_view text) {
  std::vector<Type> types;
  const std::string_view header = text.substr(0, text.find(')'));
  for (size_t i = header.find('%'); i != std::string_view::npos; i = header.find('%', i + 1))
    types.push_back({header[i + 1] == 'c' ? DType::boolean : DType::f32, {2, 3}});
  return parse_body(text, types, "rule", nullptr);
}

class TextRules : public ::testing::TestWithParam<TextRule> {};

TEST_P(TextRules, HoldForNumbersOfBothSigns) {
  const GraphPtr pattern = graph_of(GetParam().pattern), becomes = graph_of(GetParam().becomes);
  expect_same_values(pattern, becomes, 1, 1e-12);
}

TEST_P(TextRules, FireOnTheirPattern) {
  const GraphPtr found = simplified(graph_of(GetParam().pattern));
  EXPECT_TRUE(equal(*found, *simplified(graph_of(GetParam().becomes)))) << print(*found);
  EXPECT_FALSE(equal(*found, *graph_of(GetParam().pattern)));
}

std::string name_of(std::string_view rule) {
  std::string name(rule);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Simplify, TextRules,
                         ::testing::ValuesIn(text_rules().begin(), text_rules().end()),
                         [](const auto& rule) { return name_of(rule.param.name); });

TEST(Simplify, LeavesBatchesOfOperandsToBroadcasting) {
  // The zero is larger than x: what is left is x, broadcast.
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[3]) {
      %zero = constant {dtype = f32, shape = [2,3], value = 0.}
      return add(%x, %zero)
    })");
  const GraphPtr found = simplified(graph);
  EXPECT_EQ(to_string(found->results()[0].type()), "f32[2,3]");
  EXPECT_EQ(count(*found, "add"), 0);
}

TEST(Simplify, KeepsLeavesOfGradients) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[3]) {
      %a = watch add(%x, 0.)
      %loss = sum(mul(%a, stop_gradient(%a))) {axes = [0]}
      return grad(%loss, %a)
    })");
  const GraphPtr found = simplified(graph);
  EXPECT_EQ(count(*found, "watch"), 1);
  EXPECT_EQ(count(*found, "stop_gradient"), 1);
  EXPECT_EQ(count(*found, "add"), 0);
}

TEST(Simplify, ReturnsTheSameGraphWhenNothingFires) {
  const GraphPtr graph = simplified(parse_cell(all_cells()[0]));
  EXPECT_EQ(simplified(graph), graph);
  EXPECT_EQ(without_repetition(graph), graph);
}

TEST(Simplify, KeepsACarryThatOnlyAnotherCarryReads) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[4,3], %h0: f32[3], %k0: f32[3], %l0: f32[3]) {
      %h.e, %k.e, %l.e = scan %x.t in %x carry %h = %h0, %k = %k0, %l = %l0 {
        next %h = mul(%h, %k), %k = add(%k, %x.t), %l = mul(%l, %h)
      }
      return %h.e
    })");
  const GraphPtr found = simplified(graph);
  EXPECT_EQ(found->results()[0].node->results(), 2);
  expect_same_values(graph, found, 2);
}

/// Equal bodies become one object: T copies of a loop are compiled once.
TEST(Cse, SharesEqualBodies) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[4,3], %y: f32[4,3]) {
      %a = scan %s in %x { emit tanh(%s) }
      %b = scan %t in %y { emit tanh(%t) }
      return %a, %b
    })");
  const GraphPtr found = without_repetition(graph);
  const Node &a = *found->results()[0].node, &b = *found->results()[1].node;
  EXPECT_NE(&a, &b);
  EXPECT_EQ(a.regions[0], b.regions[0]);
}

class PassesOnCells : public ::testing::TestWithParam<Cell> {};

/// Each pass alone, on what a user wrote and on a training step, keeps every value.
TEST_P(PassesOnCells, KeepValues) {
  const GraphPtr forward = parse_cell(GetParam());
  const GraphPtr training = after(with_gradients(forward), "autodiff");
  for (const GraphPtr& graph : {forward, training}) {
    for (const char* passes :
         {"simplify", "cse", "expand", "pack-matmuls", "hoist", "unroll{full=true}",
          "unroll{steps=2}", "unroll{steps=3},simplify"}) {
      SCOPED_TRACE(passes);
      expect_same_values(graph, after(graph, passes), 11, 1e-7, {-1, 1, 7});
    }
  }
}

/// A pass that has run has nothing left to do.
TEST_P(PassesOnCells, AreIdempotent) {
  const GraphPtr training = after(with_gradients(parse_cell(GetParam())), "autodiff");
  for (const char* pass : {"simplify", "cse", "expand", "pack-matmuls", "hoist"}) {
    const GraphPtr once = after(training, pass);
    EXPECT_TRUE(equal(*once, *after(once, pass))) << pass;
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, PassesOnCells, ::testing::ValuesIn(all_cells()),
                         [](const auto& cell) { return std::string(cell.param.name); });

}  // namespace
}  // namespace graphc::core::testing
