// SPDX-License-Identifier: Apache-2.0
// The measured peak: a plausible number, and the types it knows.
#include "runtime/peak.h"

#include <gtest/gtest.h>

#include "runtime/clock.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

TEST(PeakCpu, IsPlausible) {
  ThreadTeam team(1);
  const double begin = steady_seconds();
  const double gflops = measure_peak_gflops(team);
  EXPECT_GE(steady_seconds() - begin, 0.030);
  // One core: above a tenth of a scalar multiply-add a cycle, below two 512-bit ones at 8 GHz.
  EXPECT_GT(gflops, 0.1);
  EXPECT_LT(gflops, 512);
  const double bf16 = measure_peak_gflops(team, DType::bf16);
  EXPECT_GT(bf16, 0.1);
  EXPECT_LT(bf16, 16384);
}

TEST(Peak, OtherTypesAreErrors) {
  ThreadTeam team(1);
  EXPECT_EQ(testing::error_of(ErrorKind::input, [&] { measure_peak_gflops(team, DType::i32); }),
            "the peak is measured for f32 and bf16: found i32");
}

}  // namespace
}  // namespace graphc::core
