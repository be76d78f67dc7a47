// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/text.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

/// The message for a graph that `damage` has changed behind the back of its interface.
template <typename Damage>
std::string message_for(const std::string& text, Damage damage) {
  const GraphPtr graph = parse_graph(text);
  verify(*graph);
  damage(*graph);
  return testing::error_of(ErrorKind::internal, [&] { verify(*graph); });
}

Node& node(const Graph& graph, const char* name) {
  return const_cast<Node&>(*graph.find(name).node);
}

const char* const kText = R"(graph @g (%x: f32[2,3]) state (%w: f32[2,3]) {
  %a = tanh %x
  %b = add %a, %w
  %y = scan %t in %b { emit exp(%t) }
  next %w = %b
  return %y
})";

TEST(Verify, AcceptsWhatTheParserBuilds) { verify(*parse_graph(kText)); }

TEST(Verify, TypesAreInferredAgain) {
  EXPECT_EQ(message_for(kText, [](const Graph& g) { node(g, "a").types[0].shape = {3, 2}; }),
            "graph @g: tanh gives f32[2,3]: found f32[3,2]\n  in: %a = tanh %x : f32[3,2]");
  EXPECT_EQ(message_for(kText, [](const Graph& g) { node(g, "b").operands.pop_back(); }),
            "graph @g: add: takes 2 operands: found 1\n  in: %b = add %a : f32[2,3]");
}

TEST(Verify, TypesInsideRegionsAreInferredAgain) {
  const std::string message = message_for(kText, [](const Graph& g) {
    node(node(g, "y").region(), "exp").types[0].dtype = DType::f64;
  });
  EXPECT_EQ(message, "graph @: exp gives f32[3]: found f64[3]\n  in: %exp = exp %t : f64[3]");
}

TEST(Verify, ValuesComeBeforeTheirUses) {
  EXPECT_EQ(message_for(kText, [](const Graph& g) { node(g, "a").operands[0] = g.find("b"); }),
            "graph @g: %b is used before it is defined\n  in: %a = tanh %b : f32[2,3]");
}

TEST(Verify, ValuesBelongToTheGraph) {
  const GraphPtr other = parse_graph("graph (%z: f32[2,3]) { return %z }");
  EXPECT_EQ(
      message_for(kText, [&](const Graph& g) { node(g, "a").operands[0] = other->find("z"); }),
      "graph @g: %z is a value of another graph\n  in: %a = tanh %z : f32[2,3]");
  EXPECT_EQ(message_for(kText, [&](const Graph& g) { node(g, "a").operands[0] = {}; }),
            "graph @g: an absent value is used");
  EXPECT_EQ(message_for(kText, [&](const Graph& g) { node(g, "a").operands[0].index = 1; }),
            "graph @g: result 1 of 'input' is used: it has 1");
}

TEST(Verify, NamesAreUnique) {
  EXPECT_EQ(message_for(kText, [](const Graph& g) { node(g, "b").names[0] = "a"; }),
            "graph @g: looking up %a finds another value\n  in: %a = add %a, %w : f32[2,3]");
  EXPECT_EQ(message_for(kText, [](const Graph& g) { node(g, "b").names[0] = "c"; }),
            "graph @g: looking up %c finds another value\n  in: %c = add %a, %w : f32[2,3]");
}

TEST(Verify, RegionsAreThereFrozenAndWithoutStates) {
  EXPECT_EQ(message_for(kText, [](const Graph& g) { node(g, "y").regions[0] = nullptr; }),
            "graph @g: 'scan' lacks its region");
  EXPECT_EQ(
      message_for(
          kText, [](const Graph& g) { node(g, "y").regions[0] = std::make_shared<Graph>("body"); }),
      "graph @body: it is not frozen");
  EXPECT_EQ(message_for(kText,
                        [](const Graph& g) {
                          node(g, "y").regions[0] =
                              parse_graph("graph @body() state (%w: f32[]) { return %w }");
                        }),
            "graph @body: a region has no states");
}

TEST(Verify, NextAssignsStatesOfEqualType) {
  EXPECT_EQ(message_for(kText,
                        [](const Graph& g) {
                          const_cast<Next&>(g.next()[0]).value = g.find("y");
                          const_cast<Next&>(g.next()[0]).state = g.find("a");
                        }),
            "graph @g: next %a: it is not a state");
  EXPECT_EQ(message_for("graph @g(%x: f32[]) state (%w: f32[]) { next %w = %x }",
                        [](const Graph& g) {
                          node(g, "x").types[0].shape = {2};
                          node(g, "x").attributes.set("shape", std::vector<int64_t>{2});
                        }),
            "graph @g: next %w: the state is f32[]: the value %x is f32[2]");
}

TEST(Verify, InputsAndStatesAreListed) {
  EXPECT_EQ(message_for(kText, [](const Graph& g) { const_cast<Values&>(g.states()).clear(); }),
            "graph @g: 1 nodes 'state' for 0 listed values");
  EXPECT_EQ(
      message_for(kText, [](const Graph& g) { const_cast<Values&>(g.inputs())[0] = g.find("a"); }),
      "graph @g: %a is listed as input");
}

TEST(Verify, ModulesDeclareWhatGraphsUse) {
  Module module = parse(kText);
  verify(module);
  const auto message = [&] {
    return testing::error_of(ErrorKind::internal, [&] { verify(module); });
  };
  module.states[0].second.dtype = DType::f64;
  EXPECT_EQ(message(), "graph @g: state %w of f32[2,3] is not declared by the module");
  module = parse(kText);
  module.states.push_back(module.states[0]);
  EXPECT_EQ(message(), "state %w is declared twice");
  module = parse(kText);
  module.graphs.push_back(module.graphs[0]);
  EXPECT_EQ(message(), "there are two graphs @g");
}

}  // namespace
}  // namespace graphc::core
