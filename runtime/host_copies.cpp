// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_copies.h"

#include <algorithm>
#include <cstring>

namespace graphc::core {
namespace {

constexpr int kMostThreads = 4;

/// Waking threads takes about 50 us, in which one thread copies half of this.
constexpr size_t kBytesForSeveralThreads = size_t(1) << 20;

/// Copies the bytes `begin` .. `end - 1` of all copies, as if they followed each other.
void copy_range(std::span<const HostCopy> copies, size_t begin, size_t end) {
  size_t offset = 0;
  for (const HostCopy& copy : copies) {
    const size_t from = std::max(begin, offset), to = std::min(end, offset + copy.bytes);
    if (from < to) std::memcpy(copy.to + (from - offset), copy.from + (from - offset), to - from);
    offset += copy.bytes;
  }
}

}  // namespace

HostCopies::HostCopies(int threads) : threads_(std::clamp(threads, 1, kMostThreads)) {}

void HostCopies::run(std::span<const HostCopy> copies) {
  size_t bytes = 0;
  for (const HostCopy& copy : copies) bytes += copy.bytes;
  if (threads_ == 1 || bytes < kBytesForSeveralThreads) return copy_range(copies, 0, bytes);
  if (!team_) team_ = std::make_unique<ThreadTeam>(threads_);
  team_->run([&](int thread) {
    const size_t part = (bytes + size_t(threads_) - 1) / size_t(threads_);
    copy_range(copies, part * size_t(thread), std::min(part * (size_t(thread) + 1), bytes));
  });
}

}  // namespace graphc::core
