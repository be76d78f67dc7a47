// SPDX-License-Identifier: Apache-2.0
// Steps that divide and merge axes, as people write them: no reshape is left in them.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/op.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "passes/region.h"
#include "tests/testing/counts.h"
#include "tests/testing/random_divided_cell.h"
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
  int moved = 0, kept = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const GraphPtr cell =
        run_pipeline(testing::random_divided_cell(seed), parse_pipeline("simplify,expand")).graph;
    if (!rearranges_in_steps(*cell)) continue;
    const GraphPtr after =
        run_pipeline(cell, parse_pipeline("simplify,hoist,split-axes,align-axes,simplify,cse"))
            .graph;
    const bool is_divisible = testing::is_divisible_cell(seed);
    ++(is_divisible ? moved : kept);
    EXPECT_FALSE(is_divisible && rearranges_in_steps(*after)) << seed << print(*after);
  }
  EXPECT_GT(moved, int(seeds) / 3);
  EXPECT_GT(kept, 0);
  testing::count("cells with divided axes", moved);
}

}  // namespace
}  // namespace graphc::core
