// SPDX-License-Identifier: Apache-2.0
// How the work of the passes grows: twice the graph, about twice the work. Counted in allocations,
// and in steps where those are counted; never in seconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "ir/op.h"
#include "ir/text.h"
#include "passes/components.h"
#include "passes/kernels/cluster_order.h"
#include "passes/kernels/clusters.h"
#include "passes/pipeline.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/growing_graphs.h"

namespace {

/// Allocations, each with what it costs, and their bytes: a pass that asks for a list of all nodes
/// for each node is seen by these.
std::atomic<int64_t> allocations{0}, bytes{0};

void* counted(size_t size) {
  ++allocations;
  bytes += int64_t(size);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return counted(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new[](size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace graphc::core {
namespace {

using graphc::core::testing::growing_graph;
using graphc::core::testing::nested_graph;

GraphPtr kernels_of(const GraphPtr& graph, std::string_view unroll) {
  const PipelineResult optimized = run_pipeline(graph, standard_pipeline("fused", unroll), {});
  return run_pipeline(optimized.graph, kernel_pipeline("fused"), {}).graph;
}

struct Work {
  double allocations, bytes;
};

Work work_of(const std::string& text, std::string_view unroll = "auto") {
  const GraphPtr graph = parse_graph(text);
  const int64_t before = allocations, bytes_before = bytes;
  kernels_of(graph, unroll);
  return {double(allocations - before), double(bytes - bytes_before)};
}

void expect_linear(const Work& once, const Work& twice) {
  EXPECT_LE(twice.allocations, 2.3 * once.allocations);
  EXPECT_LE(twice.bytes, 2.3 * once.bytes);
}

class Growth : public ::testing::TestWithParam<const char*> {};

TEST_P(Growth, OfThePassesIsLinearInTheGraph) {
  const std::string family = GetParam();
  const std::string_view unroll = family == "steps" ? "full" : "auto";
  // A body of 400 nodes is one kernel, one of 800 is cut into several: both sizes are beyond that.
  const int size = family == "body" ? 800 : 400;
  expect_linear(work_of(growing_graph(family, size), unroll),
                work_of(growing_graph(family, 2 * size), unroll));
}

INSTANTIATE_TEST_SUITE_P(Families, Growth,
                         ::testing::Values("chain", "chain-gradient", "carries", "carries-gradient",
                                           "scans", "scans-gradient", "layers-gradient", "steps",
                                           "body", "delays"),
                         [](const auto& family) {
                           std::string name = family.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PassesGrow, WithLoopsInOneAnotherAsTheirNumber) {
  expect_linear(work_of(nested_graph(8, true)), work_of(nested_graph(9, true)));
}

/// The edges that joining all nodes of a chain goes along, one after another.
int64_t edges_of_chain(int n) {
  const GraphPtr graph = parse_graph(growing_graph("chain", n));
  ClusterOrder order(*graph);
  const Node* last = nullptr;
  for (const Node& node : graph->nodes()) {
    if (node.is(ops::input)) continue;
    if (last != nullptr) {
      EXPECT_TRUE(order.join(order.unit_of(*last), node.id));
    }
    last = &node;
  }
  return order.edges();
}

TEST(ClusterOrder, GoesAlongAsManyEdgesAsTheChainHas) {
  EXPECT_LE(edges_of_chain(4000), 2.3 * double(edges_of_chain(2000)));
}

TEST(ClusterOrder, RefusesAPathThatLeavesAndComesBack) {
  const GraphPtr graph = parse_graph(
      "graph @f(%x: f32[4]) { %a = tanh %x %b = sin %a %c = add %a, %b %d = cos %c return %d }");
  const auto id = [&](const char* name) { return graph->find(name).node->id; };
  ClusterOrder order(*graph);
  EXPECT_FALSE(order.join(id("a"), id("c")));
  EXPECT_TRUE(order.join(id("a"), id("b")));
  EXPECT_TRUE(order.join(order.unit_of(graph->nodes()[size_t(id("a"))]), id("c")));
}

TEST(ClusterOrder, MovesWhatALaterNodeNeedsBeforeTheEarlierOne) {
  // %s needs %p, which comes after %a: with %a and %s one, %p comes before both.
  const GraphPtr graph = parse_graph(
      "graph @f(%x: f32[4]) { %a = tanh %x %p = sin %x %q = cos %a %s = add %a, %p "
      "%r = add %q, %s return %r }");
  const auto id = [&](const char* name) { return graph->find(name).node->id; };
  ClusterOrder order(*graph);
  EXPECT_TRUE(order.join(id("a"), id("s")));
  // %p is needed by that unit, %q needs it: the two cannot be one.
  EXPECT_FALSE(order.join(id("p"), id("q")));
}

TEST(Clusters, CutsChainsIntoKernelsOfABoundedSize) {
  const GraphPtr graph = parse_graph(growing_graph("chain", 4000));
  const Clusters clusters = find_clusters(*graph, {});
  int64_t members = 0;
  for (const Cluster& cluster : clusters.list) {
    EXPECT_LE(cluster.instructions(), kMostInstructions);
    members += int64_t(cluster.members.size());
  }
  EXPECT_EQ(members, 4000);
  EXPECT_GT(clusters.list.size(), 2u);
  EXPECT_LT(clusters.list.size(), 20u);
}

TEST(Components, OfCyclesComeAfterWhatTheyLeadTo) {
  // 0 <-> 1 -> 2 <-> 3, 4 alone, 5 led to by nobody.
  const std::vector<std::vector<int>> edges{{1}, {0, 2}, {3}, {2}, {}, {0}};
  EXPECT_EQ(components(edges, {0, 4}), (std::vector<int>{1, 1, 0, 0, 2, -1}));
  EXPECT_EQ(components(edges, {4, 0}), (std::vector<int>{2, 2, 1, 1, 0, -1}));
}

TEST(Autodiff, RefusesGradientsOfGradientsThatGrowWithoutBound) {
  std::string text = "graph @f(%x: f32[4]) {\n  %l0 = sum(mul(tanh(%x), sin(%x))) {axes = [0]}\n";
  for (int i = 0; i < 20; ++i)
    text += "  %g" + std::to_string(i) + " = grad(%l" + std::to_string(i) + ", %x)\n  %l" +
            std::to_string(i + 1) + " = sum(%g" + std::to_string(i) + ") {axes = [0]}\n";
  const GraphPtr graph = parse_graph(text + "  return %l20\n}\n");
  const Pipeline pipeline = parse_pipeline("autodiff");
  const std::string message =
      graphc::core::testing::error_of(ErrorKind::input, [&] { run_pipeline(graph, pipeline, {}); });
  EXPECT_NE(message.find("gradients of gradients"), std::string::npos) << message;
}

}  // namespace
}  // namespace graphc::core
