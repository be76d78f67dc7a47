// SPDX-License-Identifier: Apache-2.0
// Depth is not on the stack: chains and nests are compiled and run by a thread whose stack has room
// for none of them.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>

#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/testing/growing_graphs.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"

namespace graphc::core {
namespace {

using graphc::core::testing::all_test_targets;
using graphc::core::testing::growing_graph;
using graphc::core::testing::nested_graph;
using graphc::core::testing::TestTarget;

// Frames of the libraries are several times as large under the sanitizers, with which this file may
// not be compiled itself.
#ifdef GRAPHC_SANITIZED
constexpr size_t kStack = size_t{640} << 10;
#else
constexpr size_t kStack = size_t{256} << 10;
#endif

void* call(void* work) {
  try {
    (*static_cast<const std::function<void()>*>(work))();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  return nullptr;
}

void on_a_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread;
  std::function<void()> copy = work;
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &copy), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

/// What every verb does with a graph: reads and writes it, runs passes, shows it at stages that
/// targets take turns of, or with whole samples (tests/testing/samples.h) at each of each target,
/// and runs it.
void go_through(const std::string& text, const std::string& variant, const std::string& unroll) {
  const GraphPtr graph = parse_graph(text);
  EXPECT_TRUE(equal(*graph, *parse_graph(print(*graph))));
  size_t number = 0;
  for (const TestTarget& row : all_test_targets()) {
    size_t turn = number++;
    const Target* const target = row.target;
    CompileOptions options;
    options.variant = variant;
    options.unroll = unroll;
    options.threads = 1;
    for (std::string_view stage : target->stages) {
      if (!graphc::core::testing::is_sampled(turn++, 3)) continue;
      EXPECT_FALSE(target->show(graph, options, stage).empty());
    }
    CompileReport report;
    const auto executable = compile(graph, *target, options, report);
    std::vector<Tensor> inputs, states, outputs;
    for (const Argument& input : executable->signature().inputs) inputs.emplace_back(input.type);
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    executable->run(inputs, states, outputs);
  }
}

TEST(DepthCpu, AChainIsAsDeepAsItIsLong) {
  on_a_small_stack([] { go_through(growing_graph("chain", 2500), "fused", "auto"); });
}

TEST(DepthCpu, AChainInALoopIsToo) {
  on_a_small_stack([] { go_through(growing_graph("body", 500), "fused", "auto"); });
}

TEST(DepthCpu, AGradientIsAsDeepAsItsChain) {
  on_a_small_stack([] { go_through(growing_graph("chain-gradient", 500), "fused", "auto"); });
}

TEST(DepthCpu, ALoopWrittenOutIsAChain) {
  on_a_small_stack([] { go_through(growing_graph("steps", 500), "fused", "full"); });
}

TEST(DepthCpu, CarriesThatHandAValueOnAreAChain) {
  on_a_small_stack([] { go_through(growing_graph("delays", 200), "fused", "auto"); });
}

TEST(DepthCpu, LoopsInOneAnotherAreAllowedAsDeepAsThatStackTakes) {
  on_a_small_stack([] { go_through(nested_graph(40, false), "fused", "auto"); });
}

TEST(DepthCpu, EveryPassTakesAChain) {
  on_a_small_stack([] {
    for (const char* family : {"chain", "body", "delays"}) {
      const GraphPtr graph = parse_graph(growing_graph(family, family[0] == 'd' ? 300 : 10000));
      for (const char* passes : {"outline", "hoist", "pack-matmuls,hoist", "autodiff,chunk,fuse"})
        run_pipeline(graph, parse_pipeline(passes), {});
    }
  });
}

}  // namespace
}  // namespace graphc::core
