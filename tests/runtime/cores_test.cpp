// SPDX-License-Identifier: Apache-2.0
// Cores: the affinity mask and the control group's quota.
#include "runtime/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>
#include <thread>

#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

TEST(Cores, AllowedCpusAreThoseOfTheAffinityMask) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  const std::vector<int> cpus = allowed_cpus();
  EXPECT_EQ(int(cpus.size()), CPU_COUNT(&mask));
  EXPECT_EQ(std::set<int>(cpus.begin(), cpus.end()).size(), cpus.size());
  for (int cpu : cpus) EXPECT_TRUE(CPU_ISSET(size_t(cpu), &mask)) << cpu;
}

TEST(Cores, APinnedThreadHasOneCore) {
  std::thread([] {
    const int cpu = allowed_cpus().back();
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(size_t(cpu), &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
    EXPECT_EQ(allowed_cpus(), std::vector<int>{cpu});
    EXPECT_EQ(default_thread_count(), 1);
  }).join();
}

TEST(Cores, ThreadCountIsWithinBounds) {
  EXPECT_GE(default_thread_count(), 1);
  EXPECT_LE(default_thread_count(), int(allowed_cpus().size()));
}

class CgroupQuota : public ::testing::Test {
 protected:
  std::optional<double> quota(std::string_view membership) {
    return cgroup_cpu_quota(folder_.path() / "mount", folder_.add("cgroup", membership));
  }
  testing::TemporaryFolder folder_;
};

TEST_F(CgroupQuota, IsTheSmallestOnTheWayUp) {
  folder_.add("mount/a/cpu.max", "150000 100000\n");
  folder_.add("mount/a/b/cpu.max", "400000 100000\n");
  folder_.add("mount/a/b/c/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/a/b/c\n"), 1.5);
  EXPECT_EQ(quota("0::/a\n"), 1.5);
  folder_.add("mount/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("12:cpu:/x\n0::/a/b/c\n"), 0.5);
}

TEST_F(CgroupQuota, OfTheMountItself) {
  folder_.add("mount/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota("0::/\n"), 3.0);
  EXPECT_EQ(quota("0::/elsewhere\n"), 3.0);
}

TEST_F(CgroupQuota, IsAbsent) {
  folder_.add("mount/a/cpu.max", "max 100000\n");
  folder_.add("mount/b/cpu.max", "nonsense\n");
  folder_.add("mount/c/cpu.max", "0 0\n");
  EXPECT_EQ(quota("0::/a\n"), std::nullopt);
  EXPECT_EQ(quota("0::/b\n"), std::nullopt);
  EXPECT_EQ(quota("0::/c\n"), std::nullopt);
  EXPECT_EQ(quota("2:cpu:/a\n"), std::nullopt);
  EXPECT_EQ(cgroup_cpu_quota(folder_.path(), folder_.path() / "missing"), std::nullopt);
}

}  // namespace
}  // namespace graphc::core
