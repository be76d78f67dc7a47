// SPDX-License-Identifier: Apache-2.0
// The kernels of graphc-gpu-probe: what NVRTC makes of them is what is to be timed.
#include "tools/cuda/probe_text.h"

#include <gtest/gtest.h>

#include <array>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/nvrtc.h"

namespace graphc::core::probe {
namespace {

/// Each text, and the instruction of PTX that is timed with how many there are at least.
struct Timed {
  std::string name, text, instruction;
  int times = 0;
};

std::vector<Timed> timed_texts() {
  std::vector<Timed> all{{"read_all", read_text(), "ld.global", 9},
                         {"copy_all", copy_text(), "st.global", 5},
                         {"read_again", ingest_text(), "ld.global.cg", 4},
                         {"multiply_adds", multiply_add_text(), "fma.rn.f32", kMultiplyAdds},
                         {"meet_often", counter_barrier_text(), "atom.global", 2},
                         {"meet_often", flag_barrier_text(), "ld.acquire.gpu", 1},
                         {"nothing", empty_text(), "ret;", 1}};
  for (const TileProduct& product : kTileProducts)
    all.push_back({std::string(product.name), tile_product_text(product),
                   "mma.sync.aligned." + std::string(product.instruction), kTilesOfWarp});
  return all;
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class ProbeText : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!cuda::nvrtc_present()) GTEST_SKIP() << "needs libnvrtc: " << cuda::nvrtc_library().why_not;
  }
};

TEST_P(ProbeText, CompilesWithoutSpills) {
  const std::vector<std::string> options{"--ptxas-options=-v"};
  for (const Timed& timed : timed_texts()) {
    SCOPED_TRACE(timed.name);
    const cuda::Compiled compiled =
        cuda::compile_text(timed.text, timed.name + ".cu", GetParam(), options);
    EXPECT_TRUE(compiled.is_cubin);
    EXPECT_FALSE(std::regex_search(compiled.log, std::regex("([1-9][0-9]*) bytes spill")))
        << compiled.log;
  }
}

TEST_P(ProbeText, KeepsWhatIsTimed) {
  for (const Timed& timed : timed_texts()) {
    SCOPED_TRACE(timed.name);
    const std::string ptx = cuda::ptx_of(timed.text, timed.name + ".cu", GetParam());
    EXPECT_GE(count_of(ptx, timed.instruction), timed.times) << ptx;
  }
}

INSTANTIATE_TEST_SUITE_P(For, ProbeText, ::testing::Values("sm_80", "sm_90a"),
                         [](const auto& architecture) { return architecture.param; });

}  // namespace
}  // namespace graphc::core::probe
