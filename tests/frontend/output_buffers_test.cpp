// SPDX-License-Identifier: Apache-2.0
// Buffers for results: what callers hold is theirs, and what they gave back is used again.
#include "frontend/output_buffers.h"

#include <gtest/gtest.h>

#include <set>

#include "frontend/graphc.h"

namespace graphc::core {
namespace {

const std::vector<Argument> kResults{{"y", {DType::f32, {4}}}, {"z", {DType::i64, {}}}};

TEST(OutputBuffers, WhatIsHeldIsNotGivenAgain) {
  OutputBuffers buffers(kResults);
  std::vector<Tensor> held;
  std::set<const std::byte*> addresses;
  for (size_t i = 0; i < 3 * OutputBuffers::kMost; ++i) {
    held.push_back(buffers.next()[0]);
    EXPECT_EQ(held.back().type(), kResults[0].type);
    addresses.insert(held.back().address());
  }
  EXPECT_EQ(addresses.size(), held.size());
}

TEST(OutputBuffers, WhatIsGivenBackIsUsedAgain) {
  OutputBuffers buffers(kResults);
  // A caller that holds the last results while the next are computed, as a training does.
  std::set<const std::byte*> addresses;
  Tensor y, z;
  for (int i = 0; i < 100; ++i) {
    const std::vector<Tensor>& now = buffers.next();
    y = now[0];
    z = now[1];
    addresses.insert(y.address());
    addresses.insert(z.address());
    EXPECT_EQ(buffers.last()[0].address(), y.address());
  }
  EXPECT_EQ(addresses.size(), 4u);
}

TEST(OutputBuffers, KeepsNoMoreThanItSays) {
  OutputBuffers buffers(kResults);
  std::vector<Tensor> held;
  for (size_t i = 0; i < 3 * OutputBuffers::kMost; ++i) held.push_back(buffers.next()[0]);
  size_t kept = 0;
  for (const Tensor& one : held) kept += !one.is_unique();
  EXPECT_EQ(kept, OutputBuffers::kMost);
}

TEST(OutputBuffers, ResultsOfASessionStayAsTheyAre) {
  Model model("kept");
  model.graph("twice", [](Inputs& in) { return in("x", f32, {2}) * 2; });
  Session session(model);
  std::vector<Tensor> held;
  for (int i = 0; i < 20; ++i)
    held.emplace_back(session("twice", std::vector<float>{float(i), float(-i)}));
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(held[size_t(i)].to_vector(), (std::vector<float>{float(2 * i), float(-2 * i)}));
}

}  // namespace
}  // namespace graphc::core
