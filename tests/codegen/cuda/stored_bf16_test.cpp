// SPDX-License-Identifier: Apache-2.0
// Values that the target stores in bf16 under that precision: loops pass gates and their gradients
// on in it and exchange them as before, and large products read factors that a library multiplies.
// That results are as near as rounding explains, precision_test.cpp and counted_exchange_test.cpp
// show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/text.h"
#include "models/registry.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core::testing {
namespace {

Plan plan_stored(const GraphPtr& graph, const KernelTraits& traits) {
  CompileReport report;
  return make_plan(*form_kernels_for(graph, {.precision = Precision::bf16}, report, traits),
                   cuda::gpu_machine(Precision::bf16));
}

TEST(StoredBf16Cuda, LoopsInClustersExchangeWhatIsStored) {
  const GraphPtr graph = wide_layer({"lstm", 5, 8, 64}, Derivatives::with);
  const Plan stored = plan_stored(graph, targets::cuda.kernels), f32 = plan_stored(graph, {});
  EXPECT_LT(stored.arena_bytes, f32.arena_bytes);
  cuda::Gpu gpu;
  gpu.multiprocessors = 4;
  int loops = 0;
  const cuda::Launches launches = cuda::make_launches(stored, gpu, cuda::Placement::cluster);
  for (const cuda::Launch& launch : launches.step) {
    if (launch.cluster <= 1) continue;
    ++loops;
    EXPECT_THAT(launch.note, ::testing::HasSubstr("counted in by mbarriers; no barrier"));
    // Saved gates, or their gradients.
    EXPECT_THAT(launches.kernels[size_t(launch.kernel)].text,
                ::testing::HasSubstr("unsigned short* "));
  }
  EXPECT_EQ(loops, 2);
}

/// The stored types of the factors of each product that is a launch of its own: "f32 x bf16".
std::vector<std::string> factors_outside_loops(const Plan& plan) {
  std::vector<std::string> factors;
  for (const Record& record : plan.records) {
    const auto* call = std::get_if<NestCall>(&record.call);
    if (call == nullptr) continue;
    for (const NestProduct& product : plan.programs[size_t(call->program)].products)
      factors.push_back(fmt::format("{} x {}", name_of(product.left), name_of(product.right)));
  }
  return factors;
}

TEST(StoredBf16Cuda, LargeProductsReadCopiesOfTheirFactors) {
  const auto layer = make_program("lstm-layer", {"hidden=512", "steps=30", "batch=128"});
  const GraphPtr graph = layer->model().trace("train", layer->extents("train")).graph;
  const auto large = factors_outside_loops(plan_stored(graph, targets::cuda.kernels));
  EXPECT_THAT(large, ::testing::ElementsAre("bf16 x bf16", "bf16 x bf16", "bf16 x bf16"));
  // Of small ones only what is stored in bf16 anyway.
  const auto little = make_program("lstm-layer", {"hidden=16", "steps=3", "batch=8"});
  const GraphPtr small = little->model().trace("train", little->extents("train")).graph;
  EXPECT_THAT(factors_outside_loops(plan_stored(small, targets::cuda.kernels)),
              ::testing::UnorderedElementsAre("f32 x f32", "f32 x bf16", "bf16 x bf16"));
}

}  // namespace
}  // namespace graphc::core::testing
