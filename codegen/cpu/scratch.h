// SPDX-License-Identifier: Apache-2.0
// Memory that a thread keeps from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphc::cpu {

/// Floats that begin on a cache line; grows, never shrinks.
class Scratch {
 public:
  /// Room for so many floats; what was in it before is lost when it grows.
  float* get(int64_t floats) {
    if (int64_t(memory_.size()) < floats + 16) memory_.resize(std::size_t(floats) + 16);
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (64 - address % 64) % 64 / sizeof(float);
  }

 private:
  std::vector<float> memory_;
};

}  // namespace graphc::cpu
