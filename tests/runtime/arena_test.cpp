// SPDX-License-Identifier: Apache-2.0
// The arena: alignment, growth, zeros, ownership and running out.
#include "runtime/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

bool all_zero(const Arena& arena) {
  return std::all_of(arena.data(), arena.data() + arena.size(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

/// Bytes of address space this process has mapped.
int64_t mapped_bytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

TEST(Arena, IsEmptyToBeginWith) {
  Arena arena;
  EXPECT_EQ(arena.data(), nullptr);
  EXPECT_EQ(arena.size(), 0);
  EXPECT_EQ(arena.reserve(0), nullptr);
}

TEST(Arena, IsAlignedAndZero) {
  for (int64_t bytes : {int64_t{1}, 2 * kMiB, 2 * kMiB + 1, 5 * kMiB}) {
    Arena arena;
    std::byte* data = arena.reserve(bytes);
    EXPECT_EQ(data, arena.data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % (2 * kMiB), 0u);
    EXPECT_GE(arena.size(), bytes);
    EXPECT_LT(arena.size(), bytes + 2 * kMiB);
    EXPECT_TRUE(all_zero(arena));
  }
}

TEST(Arena, GrowsWithZerosAndKeepsWhatIsLongEnough) {
  Arena arena;
  std::byte* data = arena.reserve(3 * kMiB);
  std::memset(data, 1, size_t(arena.size()));
  EXPECT_EQ(arena.reserve(kMiB), data);
  EXPECT_EQ(arena.reserve(4 * kMiB), data);
  EXPECT_EQ(data[4 * kMiB - 1], std::byte{1});
  arena.reserve(9 * kMiB);
  EXPECT_EQ(arena.size(), 10 * kMiB);
  EXPECT_TRUE(all_zero(arena));
}

TEST(Arena, Moves) {
  Arena first;
  std::byte* data = first.reserve(1);
  Arena second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(first.size(), 0);
  Arena third;
  third.reserve(3 * kMiB);
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 2 * kMiB);
}

TEST(Arena, GivesEverythingBack) {
  const int64_t before = mapped_bytes();
  for (int i = 0; i < 200; ++i) {
    Arena arena;
    arena.reserve(3 * kMiB);
    arena.reserve(11 * kMiB);
    Arena other;
    other.reserve(kMiB);
    other = std::move(arena);
  }
  EXPECT_LT(mapped_bytes() - before, 100 * kMiB);
}

TEST(Arena, RunningOutLeavesItAsItWas) {
  Arena arena;
  std::byte* data = arena.reserve(1);
  data[0] = std::byte{7};
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (int64_t bytes : {most, most - 4 * kMiB, int64_t{1} << 60, int64_t{1} << 48}) {
    EXPECT_THAT(error_of(ErrorKind::resource, [&] { arena.reserve(bytes); }),
                HasSubstr("no memory for an arena of " + std::to_string(bytes) + " bytes"));
    EXPECT_EQ(arena.data(), data);
    EXPECT_EQ(arena.size(), 2 * kMiB);
    EXPECT_EQ(data[0], std::byte{7});
  }
  error_of(ErrorKind::internal, [&] { arena.reserve(-1); });
}

}  // namespace
}  // namespace graphc::core
