// SPDX-License-Identifier: Apache-2.0
// Copies in the host's memory that several threads share out: between callers' memory and pinned
// memory, which a GPU reads and writes faster than one thread copies.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/thread_team.h"

namespace graphc::core {

/// Copies `bytes` from `from` to `to`, which do not overlap. With zero bytes both may be null.
struct HostCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t bytes = 0;
};

/// Does copies on as many threads as are worth waking for them. Calls must not overlap.
class HostCopies {
 public:
  /// Uses up to `threads` threads, the caller's among them, and at most four: more do not copy
  /// faster than memory allows. The others are created by the first call that needs them.
  explicit HostCopies(int threads);

  /// Does all copies. `to` of one must not overlap what another reads or writes. Throws
  /// ErrorKind::resource if a thread cannot be created.
  void run(std::span<const HostCopy> copies);

 private:
  int threads_;
  std::unique_ptr<ThreadTeam> team_;
};

}  // namespace graphc::core
