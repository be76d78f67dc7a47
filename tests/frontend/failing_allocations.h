// SPDX-License-Identifier: Apache-2.0
// Memory that runs out when a test says so: replaces the allocation of the whole executable, which
// is linked with --wrap for what does not go through operator new.
#pragma once

#include <cstdint>

namespace graphc::core::testing {

enum class Failing {
  once,       ///< that allocation alone: what comes after it finds memory again
  from_then,  ///< that allocation and every one after it
};

/// While it lives, allocation `index` (from 0) of all threads fails: operator new throws
/// std::bad_alloc; malloc, aligned_alloc and mmap of our own code give nothing.
class FailingAllocations {
 public:
  FailingAllocations(int64_t index, Failing failing);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  /// Allocations asked for so far, and how many of them failed.
  int64_t asked() const;
  int64_t failed() const;
};

}  // namespace graphc::core::testing
