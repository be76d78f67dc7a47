// SPDX-License-Identifier: Apache-2.0
// Ranks on GPUs: those of the mock driver, which a mock of NCCL connects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/target.h"
#include "ir/text.h"
#include "runtime/cuda/nccl_functions.h"
#include "tests/codegen/rank_runs.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {
namespace {

/// The mock driver's four GPUs, one a rank.
class RanksOnGpus : public ::testing::Test {
 protected:
  RanksOnGpus() {
    all_test_targets();  // gives the CUDA target its libraries
    setenv("GRAPHC_MOCK_DEVICES", "4", 1);
  }
  ~RanksOnGpus() override { unsetenv("GRAPHC_MOCK_DEVICES"); }
};

TEST_F(RanksOnGpus, TrainALanguageModelAsOneProcessDoes) {
  const GraphPtr graph = parse_graph(kTwoLayers);
  const Arguments arguments = arguments_of(*graph, 1);
  const After wanted = run_on(targets::cuda, graph, {}, arguments, 3);
  for (const auto& [variant, ranks] : {std::pair("fused", 4), {"auto", 2}}) {
    SCOPED_TRACE(fmt::format("{}, {} ranks", variant, ranks));
    const auto found =
        run_ranks_on(targets::cuda, graph, {.variant = variant}, ranks, 0, kAxes, arguments, 3);
    expect_near(found[0], wanted);
    for (const After& each : found) EXPECT_TRUE(each == found[0]) << "other bits";
  }
}

/// Of a word's vector so many that what is summed is shared out, in parts that do not come out
/// even.
TEST_F(RanksOnGpus, ShareOutLargeSums) {
  std::string text = kTwoLayers;
  text.replace(text.find("%v: f32[16,50]"), 14, "%v: f32[16,2063]");
  const GraphPtr graph = parse_graph(text);
  const Arguments arguments = arguments_of(*graph, 3);
  for (const DType gradients : {DType::f32, DType::bf16}) {
    const After wanted =
        run_ranks_on(targets::cpu, graph, {.threads = 1}, 4, 0, kAxes, arguments, 1, gradients)[0];
    SCOPED_TRACE(to_string(gradients));
    const auto found = run_ranks_on(targets::cuda, graph, {}, 4, 0, kAxes, arguments, 1, gradients);
    expect_near(found[0], wanted);
    for (const After& each : found) EXPECT_TRUE(each == found[0]) << "other bits";
  }
}

TEST_F(RanksOnGpus, HaveTheBitsOfTheirShards) {
  const GraphPtr graph = parse_graph(kTwoLayers);
  const Arguments arguments = arguments_of(*graph, 2);
  std::optional<After> first;
  for (const int ranks : {1, 2, 4}) {
    const auto found = run_ranks_on(targets::cuda, graph, {}, ranks, 4, kAxes, arguments, 2);
    if (!first) first = found[0];
    for (const After& each : found) EXPECT_TRUE(each == *first) << ranks << " ranks: other bits";
  }
}

TEST_F(RanksOnGpus, WithoutAGpuForEachAreRefused) {
  const GraphPtr graph = parse_graph(kTwoLayers);
  const Arguments arguments = arguments_of(*graph, 1);
  const auto run = [&] { run_ranks_on(targets::cuda, graph, {}, 4, 0, kAxes, arguments, 1); };
  setenv("GRAPHC_MOCK_DEVICES", "2", 1);
  EXPECT_THAT(error_of(ErrorKind::resource, run),
              ::testing::HasSubstr("a GPU for each of the 4 ranks on this machine: found 2"));
  // A launcher may show each rank a GPU of its own, so one is not refused before NCCL sees it.
  setenv("GRAPHC_MOCK_DEVICES", "1", 1);
  EXPECT_THAT(error_of(ErrorKind::resource, run), ::testing::HasSubstr("Duplicate GPU detected"));
}

TEST_F(RanksOnGpus, ThePlanShowsTheExchanges) {
  CompileOptions options;
  options.ranks = {.count = 2, .rank = 1, .axes = kAxes};
  CompileReport report;
  const GraphPtr graph = graph_of_rank(parse_graph(kTwoLayers), options, report);
  EXPECT_THAT(targets::cuda.show(graph, options, "plan"),
              ::testing::ContainsRegex("exchange %.*: [0-9]+ bytes of each of 2 ranks to all"));
}

TEST_F(RanksOnGpus, ErrorsOfNcclNameTheCall) {
  const GraphPtr graph = parse_graph(kTwoLayers);
  const Arguments arguments = arguments_of(*graph, 1);
  const auto run = [&] { run_ranks_on(targets::cuda, graph, {}, 2, 0, kAxes, arguments, 1); };
  const cuda::testing::MockDriver mock;
  for (const char* call : {"ncclGetUniqueId", "ncclCommInitRank", "ncclAllGather", "ncclGroupStart",
                           "ncclSend", "ncclRecv", "ncclGroupEnd", "ncclCommGetAsyncError"}) {
    mock.fail(call, cuda::ncclSystemError, 0);
    EXPECT_THAT(error_of(ErrorKind::resource, run),
                ::testing::HasSubstr(fmt::format("{}: unhandled system error", call)));
    mock.heal();
  }
  run();
}

TEST_F(RanksOnGpus, ComputeRandomGraphs) {
  int64_t tried = 0;
  for (unsigned seed = 1; seed <= half_of(24) && !HasFailure(); ++seed) {
    const std::optional<RankCase> drawn = random_rank_case(seed);
    if (!drawn) continue;
    SCOPED_TRACE(drawn->text);
    const auto found = run_ranks_on(targets::cuda, drawn->graph, {}, drawn->ranks, 0, drawn->axes,
                                    drawn->arguments);
    expect_case(*drawn, found);
    ++tried;
  }
  EXPECT_GE(tried, half_of(8));
  count("graphs run by ranks on GPUs", tried);
}

}  // namespace
}  // namespace graphc::core::testing
