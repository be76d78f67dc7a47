// SPDX-License-Identifier: Apache-2.0
#include "passes/cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "ir/op.h"
#include "ir/text.h"

namespace graphc::core::testing {
namespace {

TEST(FlowNetwork, FindsTheMaximumFlowOfRandomNetworks) {
  // The value of the flow is that of the best of all cuts, tried one by one.
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    constexpr int vertices = 7;
    FlowNetwork network(vertices);
    std::vector<std::array<int, 3>> edges;
    for (int i = 0; i < 16; ++i) {
      const int from = int(random() % vertices), to = int(random() % vertices);
      edges.push_back({from, to, int(random() % 9)});
      network.add_edge(from, to, edges.back()[2]);
    }
    int64_t least = FlowNetwork::infinite;
    for (unsigned side = 0; side < (1u << vertices); ++side) {
      if ((side & 1) == 0 || (side & 2) != 0) continue;  // 0 is the source, 1 the sink
      int64_t cut = 0;
      for (const auto& [from, to, capacity] : edges) {
        if ((side >> from & 1) != 0 && (side >> to & 1) == 0) cut += capacity;
      }
      least = std::min(least, cut);
    }
    EXPECT_EQ(network.maximize(0, 1), least);
    EXPECT_FALSE(network.sink_side(1)[0]);
  }
}

std::vector<std::string> cut_of(const GraphPtr& graph) {
  CutProblem problem;
  problem.wanted = graph->results();
  problem.store = [](Value value) {
    return value.node->is(ops::constant) ? never : cost_of_storing(value.type());
  };
  problem.repeat = [](const Node& node) {
    return is_heavy(node) ? never : cost_of_repeating(node);
  };
  std::vector<std::string> names;
  for (Value value : minimum_cut(*graph, problem)) names.push_back(value.name());
  return names;
}

using Names = std::vector<std::string>;

TEST(MinimumCut, StoresOneValueRatherThanItsParts) {
  EXPECT_EQ(cut_of(parse_graph(R"(
    graph @f(%x: f32[3,5], %w: f32[5,8]) {
      %z = matmul %x, %w
      %a, %b = split %z {axis = 1, parts = 2}
      return abs(%a), neg(%b)
    })")),
            (Names{"z"}));
}

TEST(MinimumCut, StoresDearFunctionsRatherThanWhatTheyAreOf) {
  EXPECT_EQ(cut_of(parse_graph(R"(
    graph @f(%x: f32[3,5], %w: f32[5,8]) {
      %z = matmul %x, %w
      %a, %b = split %z {axis = 1, parts = 2}
      %s = sigmoid %a
      %t = tanh %b
      return %s, %t
    })")),
            (Names{"s", "t"}));
}

TEST(MinimumCut, ComputesAgainWhatIsSmallerBefore) {
  EXPECT_EQ(cut_of(parse_graph(R"(
    graph @f(%x: f32[3,1], %y: f32[5]) {
      %a = mul %x, %y
      %b = add %a, 1.
      return %b, neg(%a)
    })")),
            (Names{"x", "y"}));
}

TEST(MinimumCut, NeverRepeatsAProduct) {
  EXPECT_EQ(cut_of(parse_graph(R"(
    graph @f(%x: f32[3,1], %w: f32[1,64]) {
      %a = matmul %x, %w
      %b = tanh %a
      return %b, exp(%b)
    })")),
            (Names{"b"}));
}

TEST(MinimumCut, SavesATranscendentalRatherThanItsOperandOfEqualSize) {
  EXPECT_EQ(cut_of(parse_graph(R"(
    graph @f(%x: f32[3,4]) {
      %a = tanh %x
      return neg(%a), square(%a)
    })")),
            (Names{"a"}));
}

}  // namespace
}  // namespace graphc::core::testing
