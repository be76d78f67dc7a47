// SPDX-License-Identifier: Apache-2.0
// Copies that several threads share out move every byte, of many copies of any size.
#include "runtime/host_copies.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace graphc::core {
namespace {

using Bytes = std::vector<std::byte>;

Bytes numbered(size_t count, size_t seed) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = std::byte((i * 31 + (i >> 12) + seed) & 0xff);
  return bytes;
}

/// Copies buffers of these sizes, each between two bytes that must stay.
void expect_copied(HostCopies& copies, const std::vector<size_t>& sizes) {
  constexpr std::byte kEdge{0xa5};
  std::vector<Bytes> from, to;
  std::vector<HostCopy> list;
  for (const size_t size : sizes) {
    from.push_back(numbered(size, from.size()));
    to.emplace_back(size + 2, kEdge);
  }
  for (size_t i = 0; i < sizes.size(); ++i)
    list.push_back({to[i].data() + 1, from[i].data(), sizes[i]});
  copies.run(list);
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_TRUE(std::equal(from[i].begin(), from[i].end(), to[i].begin() + 1)) << "copy " << i;
    ASSERT_EQ(to[i].front(), kEdge) << "copy " << i;
    ASSERT_EQ(to[i].back(), kEdge) << "copy " << i;
  }
}

TEST(HostCopies, MoveEveryByteOnAnyNumberOfThreads) {
  constexpr size_t kMebibyte = size_t(1) << 20;
  for (const int threads : {0, 1, 2, 3, 4, 100}) {
    SCOPED_TRACE(threads);
    HostCopies copies(threads);
    expect_copied(copies, {});
    expect_copied(copies, {1, 0, 17});
    expect_copied(copies, {kMebibyte - 1});
    expect_copied(copies, {kMebibyte});
    expect_copied(copies, {3, 2 * kMebibyte + 5, 0, 1, 4096, kMebibyte / 2 + 7, 2});
    expect_copied(copies, std::vector<size_t>(1000, 1234));
  }
}

TEST(HostCopies, OfNoBytesMayHaveNoAddresses) {
  HostCopies copies(4);
  Bytes from = numbered(size_t(4) << 20, 3), to(from.size());
  copies.run(std::vector<HostCopy>{{}, {to.data(), from.data(), from.size()}, {}});
  EXPECT_TRUE(from == to);
  copies.run({});
}

}  // namespace
}  // namespace graphc::core
