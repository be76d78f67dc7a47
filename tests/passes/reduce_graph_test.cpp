// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/reduce_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "ir/op.h"
#include "ir/text.h"
#include "tests/testing/exact_graph.h"
#include "tests/testing/prune_graph.h"
#include "tests/testing/random_graph.h"

namespace graphc::core::testing {
namespace {

bool any_node(const Graph& graph, const std::function<bool(const Node&)>& holds) {
  for (const Node& node : graph.nodes()) {
    if (holds(node)) return true;
    for (const GraphPtr& region : node.regions) {
      if (any_node(*region, holds)) return true;
    }
  }
  return false;
}

bool has_reverse_scan(const Graph& graph) {
  return any_node(graph, [](const Node& node) {
    return node.is(ops::scan) && node.attributes.get_bool("reverse", false);
  });
}

bool has_transposed_product(const Graph& graph) {
  return any_node(graph, [](const Node& node) {
    return node.is(ops::matmul) && node.attributes.get_bool("transpose_b", false);
  });
}

TEST(ReduceGraph, FindsTheFewNodesThatMatter) {
  const auto fails = [](const GraphPtr& graph) {
    return has_reverse_scan(*graph) && has_transposed_product(*graph);
  };
  int reduced = 0;
  for (unsigned seed = 1; seed < 400; seed += 2) {
    const GraphPtr graph = pruned(seed % 4 == 1 ? exact_graph(seed, 30, true)
                                                : random_graph(seed, {.nodes = 30, .loop = true}));
    if (!fails(graph)) continue;
    const GraphPtr small = reduce_graph(graph, fails);
    EXPECT_TRUE(fails(small)) << print(*small);
    EXPECT_LE(applications(*small), 3) << "seed " << seed << "\n" << print(*small);
    ++reduced;
  }
  EXPECT_GE(reduced, 10);
}

TEST(ReduceGraph, MakesExtentsAndStepsSmall) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[12,33,17], %w: f32[17,17], %h0: f32[33,17], %z: f32[33]) {
      %y, %h.e = scan %x.t in %x carry %h = %h0 with %w {
        %h.1 = tanh(add(matmul(%h, %w), %x.t))
        next %h = %h.1
        emit mul(%h.1, %h.1)
      }
      %s = add(sum(%h.e) {axes = [1]}, %z)
      return %y, %s
    })");
  // A product inside a loop of at least three steps over at least two rows.
  const auto fails = [](const GraphPtr& candidate) {
    return any_node(*candidate, [](const Node& node) {
      return node.is(ops::scan) && node.attributes.get_int("steps", 0) >= 3 &&
             any_node(node.region(), [](const Node& inner) {
               return inner.is(ops::matmul) && inner.operands[0].shape()[0] >= 2;
             });
    });
  };
  ASSERT_TRUE(fails(graph));
  const GraphPtr small = reduce_graph(graph, fails);
  EXPECT_TRUE(fails(small));
  EXPECT_EQ(applications(*small), 2) << print(*small);
  for (const Node& node : small->nodes()) {
    for (const Type& type : node.types) {
      for (int64_t extent : type.shape) EXPECT_LE(extent, 3) << print(*small);
    }
  }
}

TEST(ReduceGraph, KeepsGradientsWhole) {
  const GraphPtr graph = random_graph(11, {.nodes = 20, .loop = true, .gradient = true});
  const auto fails = [](const GraphPtr& candidate) {
    return any_node(*candidate, [](const Node& node) { return node.is(ops::grad); });
  };
  ASSERT_TRUE(fails(graph));
  const GraphPtr small = reduce_graph(graph, fails);
  EXPECT_TRUE(fails(small));
  EXPECT_LE(applications(*small), 2) << print(*small);
}

TEST(ReduceGraph, StopsAfterAsManyQuestions) {
  int asked = 0;
  const auto fails = [&](const GraphPtr&) { return ++asked > 0; };
  reduce_graph(exact_graph(3, 30, true), fails, 3);
  EXPECT_EQ(asked, 3);
}

/// A state that another node reads beside its next value, among much else.
TEST(ReduceGraph, KeepsTheStatesThatMatter) {
  const auto fails = [](const GraphPtr& graph) {
    for (const Next& next : graph->next()) {
      for (Value result : graph->results()) {
        if (std::ranges::count(result.node->operands, next.state) > 0 && result.node->is(ops::sub))
          return true;
      }
    }
    return false;
  };
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[4,6]) state (%w: f32[4,6], %v: f32[6], %read: f32[4,6], %count: i32[]) {
      %y = mul(add(%x, %read), %w)
      %z = tanh(add(%y, %v))
      next %w = %z, %v = mul(%v, 2.), %count = add(%count, 1)
      return sub(%z, %w), %y, sum(%read) {axes = [0]}
    })");
  ASSERT_TRUE(fails(graph));
  const GraphPtr small = reduce_graph(graph, fails);
  EXPECT_TRUE(fails(small));
  EXPECT_EQ(small->states().size(), 1) << print(*small);
  EXPECT_EQ(small->next().size(), 1) << print(*small);
  EXPECT_EQ(small->results().size(), 1) << print(*small);
  EXPECT_EQ(applications(*small), 1) << print(*small);
  EXPECT_EQ(small->states()[0].shape().elements(), 1) << print(*small);
}

/// What only reads a state is as well an input.
TEST(ReduceGraph, ReadsInputsInThePlaceOfStates) {
  const GraphPtr graph =
      parse_graph("graph @f() state (%w: f32[4], %v: f32[4]) { next %v = %w return neg(exp(%w)) }");
  const auto fails = [](const GraphPtr& candidate) {
    return any_node(*candidate, [](const Node& node) { return node.is(ops::exp); });
  };
  const GraphPtr small = reduce_graph(graph, fails);
  EXPECT_TRUE(small->states().empty()) << print(*small);
  EXPECT_EQ(applications(*small), 1) << print(*small);
}

}  // namespace
}  // namespace graphc::core::testing
