// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/failing_allocations.h"

#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <new>

namespace graphc::core::testing {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

std::atomic<bool> counting{false};
std::atomic<int64_t> asked_for{0}, failures{0};
std::atomic<int64_t> first{kNever}, end_of_failing{kNever};

bool fails() {
  if (!counting.load(std::memory_order_relaxed)) return false;
  const int64_t index = asked_for.fetch_add(1);
  if (index < first || index >= end_of_failing) return false;
  ++failures;
  return true;
}

}  // namespace

FailingAllocations::FailingAllocations(int64_t index, Failing failing) {
  asked_for = failures = 0;
  first = index;
  end_of_failing = failing == Failing::once && index < kNever ? index + 1 : kNever;
  counting = true;
}

FailingAllocations::~FailingAllocations() { counting = false; }

int64_t FailingAllocations::asked() const { return asked_for; }
int64_t FailingAllocations::failed() const { return failures; }

}  // namespace graphc::core::testing

extern "C" {
void* __real_malloc(size_t size);
void* __real_aligned_alloc(size_t alignment, size_t size);
void* __real_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset);

void* __wrap_malloc(size_t size) {
  return graphc::core::testing::fails() ? nullptr : __real_malloc(size);
}

void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  return graphc::core::testing::fails() ? nullptr : __real_aligned_alloc(alignment, size);
}

void* __wrap_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  if (!graphc::core::testing::fails()) {
    return __real_mmap(address, size, protection, flags, file, offset);
  }
  errno = ENOMEM;
  return MAP_FAILED;
}
}

namespace {

void* allocate(size_t size) noexcept { return std::malloc(size > 0 ? size : 1); }

void* allocate_or_throw(size_t size) {
  void* const memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return allocate_or_throw(size); }
void* operator new[](size_t size) { return allocate_or_throw(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
