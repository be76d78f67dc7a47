// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/cuda/cuda_draw.h"

#include <algorithm>

#include "tests/testing/confused_graph.h"
#include "tests/testing/exact_graph.h"
#include "tests/testing/random_graph.h"

namespace graphc::core::testing {
namespace {

using cuda::Placement;

constexpr std::optional<Placement> kCudaPlacements[] = {Placement::grid,    Placement::block,
                                                        Placement::cluster, Placement::streamed,
                                                        std::nullopt,       Placement::launches};
/// Loops stay loops in the first two, so that they have placements.
const std::vector<Way> kCudaWays{{"fused", "loop", {1}},
                                 {"basic", "loop", {1}},
                                 {"unrolled", "auto", {1}},
                                 {"fused", "auto", {1}}};

}  // namespace

CudaDraw draw_for_cuda(unsigned seed) {
  const std::vector<TestTarget>& targets = all_test_targets();
  const TestTarget* cuda = &*std::ranges::find(targets, &targets::cuda, &TestTarget::target);
  CudaDraw draw{
      seed, nullptr, Numbers::real, {cuda, "", kCudaPlacements[seed % 6]}, kCudaWays[seed / 6 % 4]};
  const unsigned kind = seed / 24;
  const int nodes = 3 + int(seed % 9);
  const bool gradient = kind % 4 == 3;
  switch (kind % 10) {
    case 0:
      draw.numbers = Numbers::whole;
      draw.graph = exact_graph(seed, nodes, true);
      break;
    case 1:
      draw.numbers = Numbers::scaled;
      draw.graph = confused_graph(seed, {.real = true, .gradient = gradient});
      break;
    case 2:
    case 3:
    case 4:
    case 5:
      draw.numbers = Numbers::whole;
      draw.graph = confused_graph(seed, {.gradient = gradient});
      break;
    default:
      draw.graph =
          random_graph(seed, {.nodes = nodes, .loop = kind % 10 != 6, .gradient = gradient});
  }
  return draw;
}

}  // namespace graphc::core::testing
