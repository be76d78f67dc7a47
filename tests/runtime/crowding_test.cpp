// SPDX-License-Identifier: Apache-2.0
// When a team's threads take turns, told of made-up times.
#include "runtime/crowding.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace graphc::core {
namespace {

/// As many runs in turns as there are until the threads are tried again, a millisecond each.
int rest(Crowding& crowding, double& now) {
  int runs = 0;
  for (; crowding.alone(); ++runs) crowding.ran_alone(now += 1e-3);
  return runs;
}

TEST(Crowding, IsSeenInAWindowOfTimeAndNotInOneRun) {
  Crowding crowding;
  crowding.ran_together(1, 4e-3, 4e-3);
  EXPECT_FALSE(crowding.alone());
  crowding.ran_together(1, 2e-3, 0);
  EXPECT_TRUE(crowding.alone());
}

TEST(Crowding, NeedsAShareOfTheTime) {
  Crowding crowding;
  for (int run = 0; run < 100; ++run) crowding.ran_together(run, 10e-3, 2e-3);
  EXPECT_FALSE(crowding.alone());
  crowding.ran_together(100, 10e-3, 3e-3);
  EXPECT_TRUE(crowding.alone());
}

TEST(Crowding, IsLookedForAgainAfterRestsThatGrow) {
  Crowding crowding;
  double now = 1;
  int before = 0;
  for (int trial = 0; trial < 12; ++trial) {
    crowding.ran_together(now, 10e-3, 10e-3);
    const int runs = rest(crowding, now);
    EXPECT_NEAR(runs, trial == 0 ? 50 : std::min(2 * before, 2000), 2);
    before = runs;
  }
  // What was not crowded once begins with the least rest again.
  crowding.ran_together(now, 10e-3, 0);
  EXPECT_FALSE(crowding.alone());
  crowding.ran_together(now, 10e-3, 10e-3);
  EXPECT_NEAR(rest(crowding, now), 50, 2);
}

}  // namespace
}  // namespace graphc::core
