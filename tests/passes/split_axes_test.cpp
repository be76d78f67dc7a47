// SPDX-License-Identifier: Apache-2.0
// Steps that divide and merge axes, as people write them: no reshape is left in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "ir/evaluate.h"
#include "ir/op.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "passes/region.h"
#include "tests/testing/counts.h"
#include "tests/testing/random_divided_cell.h"
#include "tests/testing/random_rearrangements.h"
#include "tests/testing/samples.h"

namespace graphc::core {
namespace {

/// Whether a loop of the graph has a step that rearranges axes.
bool rearranges_in_steps(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.is(ops::scan) &&
           (contains(node.region(), ops::reshape) || contains(node.region(), ops::transpose));
  });
}

TEST(SplitAxes, LeavesNothingToRearrangeInDivisibleSteps) {
  const unsigned seeds = testing::whole_samples() ? 2000 : 200;
  int divided = 0, whole = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const GraphPtr cell =
        run_pipeline(testing::random_divided_cell(seed), parse_pipeline("simplify,expand")).graph;
    if (!rearranges_in_steps(*cell)) continue;
    const GraphPtr after =
        run_pipeline(cell, parse_pipeline("simplify,hoist,split-axes,align-axes,simplify,cse"))
            .graph;
    const bool moves = rearranges_in_steps(*after);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, print(*after)));
    if (testing::is_surely_divisible(seed)) {
      EXPECT_FALSE(moves);
      ++divided;
    } else if (testing::is_surely_whole(seed)) {
      EXPECT_TRUE(moves);
      ++whole;
    }
  }
  EXPECT_GT(divided, int(seeds) / 4);
  EXPECT_GT(whole, int(seeds) / 40);
  testing::count("cells with divided axes", divided);
}

std::vector<Literal> random_inputs(const Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Literal> inputs;
  for (const Value input : graph.inputs()) {
    Literal literal(Type{DType::f64, input.shape()});
    for (double& x : literal.mutable_data<double>())
      x = std::uniform_real_distribution<double>(-1, 1)(random);
    inputs.push_back(std::move(literal));
  }
  return inputs;
}

/// Sums of the same numbers may come in another order.
void expect_close(const std::vector<Literal>& found, const std::vector<Literal>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(found[i].shape(), wanted[i].shape());
    for (int64_t k = 0; k < wanted[i].elements(); ++k)
      ASSERT_NEAR(found[i].element(k), wanted[i].element(k), 1e-12) << i << " " << k;
  }
}

TEST(SplitAxes, ChangesNoNumber) {
  const unsigned seeds = testing::whole_samples() ? 20000 : 3000;
  std::array<int, 2> divided{};
  for (unsigned seed = 0; seed < seeds && !HasFailure(); ++seed) {
    const GraphPtr graph = testing::random_rearrangements(seed);
    const std::vector<Literal> inputs = random_inputs(*graph, seed);
    const auto results = [&](const GraphPtr& of) {
      return evaluate(*of, inputs, {}, Precision::f64).results;
    };
    const std::vector<Literal> wanted = results(graph);
    constexpr std::array kPipelines{"split-axes", "simplify,split-axes,align-axes,simplify"};
    for (size_t i = 0; i < kPipelines.size(); ++i) {
      const PipelineResult after = run_pipeline(graph, parse_pipeline(kPipelines[i]));
      divided[i] += int(std::ranges::count_if(after.remarks.all(), [](const Remark& remark) {
        return remark.text.starts_with("divides");
      }));
      SCOPED_TRACE(fmt::format("seed {}\n{}{}", seed, print(*graph), print(*after.graph)));
      expect_close(results(after.graph), wanted);
    }
  }
  for (const int each : divided) EXPECT_GT(each, int(seeds) / 20);
  testing::count("rearranging loops with divided axes", divided[0] + divided[1]);
}

}  // namespace
}  // namespace graphc::core
