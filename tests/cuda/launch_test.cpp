// SPDX-License-Identifier: Apache-2.0
// Launches that a device refuses, and what a seed decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/cuda/run_text.h"

namespace graphc::core::cuda_emulator {
namespace {

using testing::HasSubstr;

TEST(EmulatorLaunch, RefusesWhatADeviceWould) {
  const Module module(
      "extern \"C\" __global__ void __launch_bounds__(64) f(int* p) {\n"
      "extern __shared__ char dynamic[];\n__shared__ int s[100];\n"
      "((float*)dynamic)[threadIdx.x] = 1.0f;\n}\n");
  EXPECT_EQ(module.find("f")->most_threads(), 64u);
  EXPECT_EQ(module.find("f")->static_shared(), 400u);
  EXPECT_EQ(module.find("g"), nullptr);
  const auto error = [&](const std::function<void(Launch&)>& change) {
    DeviceMemory memory;
    Launch launch = launch_of(2, 64);
    launch.dynamic_shared = 256;
    change(launch);
    return message_of([&] { run_kernel(module, launch, memory, static_cast<int*>(nullptr)); });
  };
  EXPECT_EQ(error([](Launch&) {}), "");
  EXPECT_THAT(error([](Launch& one) { one.block[0] = 65; }), HasSubstr("its launch bounds 64"));
  EXPECT_THAT(error([](Launch& one) { one.block[0] = 2000; }), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(error([](Launch& one) { one.block[2] = 0; }), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(error([](Launch& one) { one.grid[0] = 0; }), HasSubstr("a grid of (0,1,1) blocks"));
  EXPECT_THAT(error([](Launch& one) { one.grid[1] = 65536; }), HasSubstr("a grid of "));
  EXPECT_THAT(error([](Launch& one) { one.dynamic_shared = 0; }),
              HasSubstr("no dynamic shared memory"));
  EXPECT_THAT(error([](Launch& one) { one.dynamic_shared = 255; }), HasSubstr("past the end of"));
  EXPECT_THAT(error([](Launch& one) { one.dynamic_shared = 232448; }),
              HasSubstr("bytes of shared memory, wanted at most 232448"));
  EXPECT_THAT(error([](Launch& one) {
                one.cooperative = true;
                one.most_resident_blocks = 1;
              }),
              HasSubstr("2 cooperative blocks, wanted at most 1"));
  DeviceMemory memory;
  Launch launch = launch_of(1, 1);
  launch.dynamic_shared = 4;
  EXPECT_THAT(message_of([&] { run(*module.find("f"), launch, memory); }),
              HasSubstr("no parameters, wanted 1"));
}

TEST(EmulatorLaunch, TheSeedDecidesTheOrder) {
  const Module module(kernel_text("int* order, int* next, int* places",
                                  "if (threadIdx.x % 32 == 0) { int at = atomicAdd(next, 1); "
                                  "places[at] = blockIdx.x * 2 + threadIdx.x / 32; }"));
  const auto order_of = [&](uint64_t seed) {
    DeviceMemory memory;
    Array<int> order(memory, "order", std::vector<int>(1));
    Array<int> next(memory, "next", std::vector<int>(1)), places(memory, "places", 16);
    run_kernel(module, launch_of(8, 64, seed), memory, order.data(), next.data(), places.data());
    return places.read();
  };
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    orders.insert(order_of(seed));
    EXPECT_EQ(order_of(seed), order_of(seed));
  }
  EXPECT_GE(orders.size(), seeds - 2);
}

}  // namespace
}  // namespace graphc::core::cuda_emulator
