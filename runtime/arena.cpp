// SPDX-License-Identifier: Apache-2.0
// The arena: an anonymous mapping, cut to an aligned range.
#include "runtime/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "ir/error.h"

namespace graphc::core {

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

Arena::~Arena() { release(); }

void Arena::release() {
  if (data_ != nullptr) munmap(data_, size_t(size_));
  data_ = nullptr;
  size_ = 0;
}

std::byte* Arena::reserve(int64_t bytes) {
  GRAPHC_CHECK(bytes >= 0, "an arena of {} bytes", bytes);
  if (bytes <= size_) return data_;
  if (bytes > std::numeric_limits<int64_t>::max() - 2 * kAlignment) {
    throw resource_error("no memory for an arena of {} bytes: no address space is that large",
                         bytes);
  }
  const int64_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const size_t mapped = size_t(size + kAlignment);
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    throw resource_error("no memory for an arena of {} bytes: {}", bytes, std::strerror(errno));
  }

  // The mapping is one alignment too long: unmap everything outside the aligned range.
  const auto address = reinterpret_cast<uintptr_t>(mapping);
  const size_t before = size_t(-address & uintptr_t(kAlignment - 1));
  std::byte* first = static_cast<std::byte*>(mapping) + before;
  if (before > 0) munmap(mapping, before);
  const size_t after = size_t(kAlignment) - before;
  if (after > 0) munmap(first + size, after);
  // A hint: without huge pages the arena is only slower.
  madvise(first, size_t(size), MADV_HUGEPAGE);

  release();
  data_ = first;
  size_ = size;
  return data_;
}

}  // namespace graphc::core
