// SPDX-License-Identifier: Apache-2.0
// Four hundred random graphs, with --slow two thousand, on the CUDA target, in the emulator: of
// real numbers, of whole ones, and confused ones of both (tests/testing), small, most with a loop.
// Each is compiled in one way, for one placement of its loops, all of which take turns, run twice
// and compared with the evaluator. GRAPHC_CUDA_GRAPHS says how many, GRAPHC_SEED which is the
// first. A graph that fails is reduced and written down as tests/codegen/variants.h says.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "ir/text.h"
#include "tests/codegen/cuda/cuda_draw.h"
#include "tests/testing/counts.h"

namespace graphc::core::testing {
namespace {

constexpr int64_t kCudaParts = 8;

/// In parts, so that they run side by side.
class RandomGraphsOnCudaTarget : public ::testing::TestWithParam<int64_t> {
 protected:
  /// On a GPU of few multiprocessors blocks meet as well, and the emulator has less to do.
  void SetUp() override { setenv("GRAPHC_MOCK_MULTIPROCESSORS", "3", 1); }
  void TearDown() override { unsetenv("GRAPHC_MOCK_MULTIPROCESSORS"); }
};

TEST_P(RandomGraphsOnCudaTarget, AgreeWithTheEvaluator) {
  const int64_t all = number_from("GRAPHC_CUDA_GRAPHS", 400);
  const int64_t first = number_from("GRAPHC_SEED", 1);
  const int64_t begin = all * GetParam() / kCudaParts, end = all * (GetParam() + 1) / kCudaParts;
  std::set<std::tuple<std::optional<cuda::Placement>, std::string, std::string>> met;
  for (int64_t number = begin; number < end && !HasFailure(); ++number) {
    const CudaDraw draw = draw_for_cuda(unsigned(first + number));
    met.emplace(draw.level.placement, draw.way.variant, draw.way.unroll);
    const std::string wrong =
        first_difference(draw.graph, draw.seed, draw.numbers, {draw.level}, {draw.way});
    if (wrong.empty()) continue;
    ADD_FAILURE() << "seed " << draw.seed << ", placement " << name_of(draw.level.placement) << ": "
                  << wrong << "\n"
                  << print(*draw.graph) << "\n"
                  << reduced_failure(draw.graph, "cuda_" + std::to_string(draw.seed), draw.seed,
                                     draw.numbers, {draw.level}, {draw.way});
  }
  EXPECT_TRUE(end - begin < 24 || met.size() == 24) << met.size();
  count("random graphs on the CUDA target", end - begin);
}

INSTANTIATE_TEST_SUITE_P(Part, RandomGraphsOnCudaTarget, ::testing::Range<int64_t>(0, kCudaParts));

}  // namespace
}  // namespace graphc::core::testing
