// SPDX-License-Identifier: Apache-2.0
// Sizes of caches as the system describes them, working sets, and a plausible bandwidth.
#include "runtime/bandwidth.h"

#include <gtest/gtest.h>

#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

constexpr int64_t kMega = int64_t{1} << 20;

void add_cache(const testing::TemporaryFolder& folder, int index, const std::string& level,
               const std::string& type, const std::string& size) {
  const std::string cache = fmt::format("index{}/", index);
  folder.add(cache + "level", level + "\n");
  folder.add(cache + "type", type + "\n");
  folder.add(cache + "size", size + "\n");
}

TEST(CacheSizes, AreReadFromTheSystem) {
  const testing::TemporaryFolder folder;
  add_cache(folder, 0, "1", "Data", "48K");
  add_cache(folder, 1, "1", "Instruction", "32K");
  add_cache(folder, 2, "2", "Unified", "2048K");
  add_cache(folder, 3, "3", "Unified", "32M");
  const CacheSizes sizes = cache_sizes(folder.path());
  EXPECT_EQ(sizes.second_level, 2 * kMega);
  EXPECT_EQ(sizes.shared, 32 * kMega);
}

TEST(CacheSizes, AreNothingWhereTheSystemDoesNotSay) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(cache_sizes(folder.path() / "none").second_level, 0);
  add_cache(folder, 0, "2", "Unified", "-1K");
  add_cache(folder, 1, "3", "Unified", "12Q");
  EXPECT_EQ(cache_sizes(folder.path()).second_level, 0);
  EXPECT_EQ(cache_sizes(folder.path()).shared, 0);
}

std::vector<int64_t> bytes_of(const CacheSizes& caches, int threads) {
  std::vector<int64_t> bytes;
  for (const WorkingSet& set : working_sets(caches, threads)) bytes.push_back(set.bytes_of_thread);
  return bytes;
}

TEST(WorkingSets, LieInOnePlaceEach) {
  using Bytes = std::vector<int64_t>;
  EXPECT_EQ(bytes_of({2 * kMega, 64 * kMega}, 2), (Bytes{kMega, 16 * kMega, 256 * kMega}));
  // Of a shared cache that is small beside the second-level ones, what there is of it.
  EXPECT_EQ(bytes_of({2 * kMega, 32 * kMega}, 4), (Bytes{kMega, 6 * kMega, 128 * kMega}));
  EXPECT_EQ(bytes_of({2 * kMega, 8 * kMega}, 4), (Bytes{kMega, 4 * kMega, 128 * kMega}));
  EXPECT_EQ(bytes_of({kMega, 384 * kMega}, 1), (Bytes{kMega / 2, 8 * kMega, 768 * kMega}));
  EXPECT_EQ(bytes_of({0, 0}, 1), (Bytes{kMega / 2, 8 * kMega, 512 * kMega}));
}

TEST(BandwidthCpu, IsPlausible) {
  for (const int threads : {1, 2}) {
    ThreadTeam team(threads);
    const double gb_per_s = measure_read_bandwidth(team, 64 * 1024);
    // From a byte in four nanoseconds to two 512-bit vectors a cycle at 8 GHz on each thread.
    EXPECT_GT(gb_per_s, 0.25);
    EXPECT_LT(gb_per_s, 1024 * threads);
  }
}

}  // namespace
}  // namespace graphc::core
