// SPDX-License-Identifier: Apache-2.0
// Every pass on random graphs: the evaluator gives the same answer before and after, and gradients
// are the same whether a pass runs before autodiff or not. Text and protobuf give the graph back.
#include <gtest/gtest.h>

#include <random>

#include "ir/serialize.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "tests/passes/values.h"
#include "tests/testing/counts.h"
#include "tests/testing/exact_graph.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/samples.h"

namespace graphc::core::testing {
namespace {

GraphPtr graph_of(unsigned seed) {
  return random_graph(
      seed, {.nodes = 5 + int(seed * 7 % 25), .loop = seed % 2 == 1, .gradient = seed % 3 == 2});
}

/// What must have run before a pass that is alone: `fuse` takes no composites, and reductions one
/// axis at a time.
std::string before(const Pass& pass) {
  if (pass.name == "autodiff" || pass.name == "remat") return "simplify";
  if (pass.name == "fuse") return "autodiff,expand,simplify,reductions";
  if (pass.name == "reductions") return "autodiff,expand";
  return "autodiff";
}

/// The uses of a pass that are tried: with the options that change what it does.
std::vector<std::string> uses_of(const Pass& pass) {
  const std::string name(pass.name);
  if (name == "remat") return {"remat{steps=2},autodiff"};
  if (name == "unroll") return {"unroll{full=true}", "unroll{steps=2}", "unroll{steps=3}"};
  return {name};
}

TEST(RandomPasses, KeepTheAnswer) {
  int64_t tried = 0;
  for (const Pass* pass : all_passes()) {
    for (const std::string& use : uses_of(*pass)) {
      for (unsigned seed = 1; seed <= half_of(150); ++seed) {
        const bool has_grads = before(*pass) == "simplify";
        const GraphPtr plain = after(graph_of(seed), has_grads ? "autodiff" : before(*pass));
        const GraphPtr changed =
            after(has_grads ? after(graph_of(seed), before(*pass)) : plain, use);
        SCOPED_TRACE(fmt::format("{} on random graph {}", use, seed));
        verify(*changed);
        expect_same_values(plain, changed, seed, 1e-9);
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, half_of(150) * 12);
  count("graphs through one pass", tried);
}

TEST(RandomPasses, KeepGradientsWhenTheyRunBeforeAutodiff) {
  int64_t tried = 0;
  for (const char* passes :
       {"simplify", "cse", "expand", "outline", "hoist", "unroll{full=true}", "unroll{steps=2}"}) {
    for (unsigned seed = 2; seed <= half_of(450); seed += 3) {  // those with gradients
      const GraphPtr graph = graph_of(seed);
      SCOPED_TRACE(fmt::format("{} on random graph {}", passes, seed));
      expect_same_values(after(graph, "autodiff"), after(graph, std::string(passes) + ",autodiff"),
                         seed, 1e-9);
      ++tried;
    }
  }
  count("gradients behind one pass", tried);
}

/// Whole numbers for an exact graph.
std::vector<Literal> whole_inputs(const Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> whole(-kExactInput, kExactInput);
  std::vector<Literal> inputs;
  for (Value input : graph.inputs()) {
    Literal literal(Type{DType::f64, input.shape()});
    for (double& x : literal.mutable_data<double>()) x = whole(random);
    inputs.push_back(literal.converted(input.dtype()));
  }
  return inputs;
}

TEST(RandomPasses, LoopsAreTheirSteps) {
  int64_t tried = 0;
  for (unsigned seed = 1; seed <= half_of(400); seed += 2) {  // those with a loop
    const GraphPtr graph = after(exact_graph(seed, 15, true), "expand");
    const std::vector<Literal> inputs = whole_inputs(*graph, seed);
    const Evaluation wanted = evaluate(*graph, inputs, {}, Precision::f64);
    for (const char* use : {"unroll{steps=1}", "unroll{steps=2}", "unroll{steps=3}",
                            "unroll{steps=4}", "unroll{full=true}"}) {
      SCOPED_TRACE(fmt::format("{} on exact graph {}", use, seed));
      const Evaluation found = evaluate(*after(graph, use), inputs, {}, Precision::f64);
      for (size_t i = 0; i < wanted.results.size(); ++i) {
        for (int64_t k = 0; k < wanted.results[i].elements(); ++k)
          ASSERT_EQ(found.results[i].element(k), wanted.results[i].element(k)) << i << " " << k;
      }
      ++tried;
    }
  }
  count("loops unrolled", tried);
}

TEST(RandomPasses, TextAndProtobufGiveTheGraphBack) {
  int64_t tried = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    for (const GraphPtr& graph : {graph_of(seed), exact_graph(seed, 15, seed % 2 == 1),
                                  after(graph_of(seed), "autodiff,expand,simplify,cse")}) {
      SCOPED_TRACE(fmt::format("random graph {}", seed));
      const std::string text = print(*graph);
      const GraphPtr read = parse_graph(text);
      EXPECT_TRUE(equal(*read, *graph)) << text;
      EXPECT_EQ(print(*read), text);
      Module module;
      module.graphs.push_back(graph);
      EXPECT_TRUE(equal(*from_proto(to_proto(module)).graphs.at(0), *graph));
      ++tried;
    }
  }
  count("graphs read back", tried);
}

}  // namespace
}  // namespace graphc::core::testing
