// SPDX-License-Identifier: Apache-2.0
// The single memory block of a plan's values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphc::core {

/// A mapping aligned to 2 MiB, on huge pages where available, so that a step's values take few TLB
/// entries. Pages are allocated at first touch.
class Arena {
 public:
  static constexpr int64_t kAlignment = int64_t{2} << 20;

  Arena() = default;
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  /// Makes the arena at least `bytes` long and returns its start. An arena that grows moves: its
  /// content is dropped and it reads as zero; one that is long enough is unchanged. Throws
  /// ErrorKind::resource, leaving the arena unchanged, if there is not enough memory.
  std::byte* reserve(int64_t bytes);

  std::byte* data() const { return data_; }
  /// The length in bytes: 0 or a multiple of 2 MiB.
  int64_t size() const { return size_; }

 private:
  void release();

  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace graphc::core
