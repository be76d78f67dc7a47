// SPDX-License-Identifier: Apache-2.0
// graphc dump and check with --ranks: the graph of one of several ranks, and ranks that are threads
// against the evaluator.
#include <gmock/gmock.h>

#include "tests/testing/temporary_folder.h"
#include "tests/tools/run_tool.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr const char* kTraining = R"(
graph @train(%x: f32[6,8,5], %y: i32[8])
    state (%w: f32[5,4], %u: f32[4,4], %v: f32[4,3], %h: f32[8,4]) {
  %h.e = scan %x.t in %x carry %s = %h with %w, %u {
    next %s = tanh(add(matmul(%x.t, %w), matmul(%s, %u)))
  }
  %loss = mean(cross_entropy(matmul(%h.e, %v), %y)) {axes = [0]}
  %dw, %du, %dv = grad %loss, %w, %u, %v
  next %w = sub(%w, %dw), %u = sub(%u, %du), %v = sub(%v, %dv), %h = %h.e
  return %loss
}
)";

TEST(RankGraphs, DumpShowsTheGraphOfARank) {
  const Ran shown =
      run_tool(GRAPHC_TOOL, "dump ptb-lm hidden=8 steps=3 batch=8 --ranks=4 --rank=1");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("all_reduce"), HasSubstr("all_gather"),
                               HasSubstr("slice %tokens {axis = 1, limit = 4, start = 2}")));
  const Ran plan =
      run_tool(GRAPHC_TOOL, "dump ptb-lm hidden=8 steps=3 batch=8 --ranks=4 --stage=plan");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, AllOf(ContainsRegex("external %[^\n]*: all_reduce, call"),
                              ContainsRegex("external %[^\n]*: wait, call")));
}

TEST(RankGraphs, CheckRunsRanksAgainstTheGraphAsWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.add("train.graph", kTraining).string();
  for (const char* options : {"--ranks=4", "--ranks=2 --shards=4", "--ranks=2 --batch=x=1",
                              "--ranks=4 --target=reference", "--ranks=2 --gradients=bf16"}) {
    const Ran ran = run_tool(GRAPHC_TOOL, fmt::format("check {} {}", file, options));
    EXPECT_EQ(ran.code, 0) << options << "\n" << ran.err << ran.out;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("agrees with the evaluator"), HasSubstr(" ranks; 2 runs")))
        << options;
  }
}

TEST(RankGraphs, RefuseWhatDoesNotFit) {
  const TemporaryFolder folder;
  const std::string file = folder.add("train.graph", kTraining).string();
  const auto refused = [&](const std::string& options, int code, const std::string& text) {
    const Ran ran = run_tool(GRAPHC_TOOL, fmt::format("check {} {}", file, options));
    EXPECT_EQ(ran.code, code) << options;
    EXPECT_THAT(ran.err, HasSubstr(text)) << options;
  };
  refused("--ranks=3", 3, "the batch of %x, axis 1 of f32[6,8,5], is not divided by 3 ranks");
  refused("--ranks=2 --batch=z=1", 2, "--batch: graph @train has no input 'z'");
  refused("--ranks=2 --batch=y=1", 2, "wanted one of its 1 axes, or 'whole': found '1'");
  refused("--ranks=2 --shards=3", 2, "shards: wanted a power of two");
}

}  // namespace
}  // namespace graphc::core::testing
