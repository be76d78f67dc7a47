// SPDX-License-Identifier: Apache-2.0
// Memory that a thread keeps from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/arena.h"

namespace graphc::core::cpu {

/// Floats that begin on a cache line; grows, never shrinks. What takes many pages lies in huge
/// ones.
class Scratch {
 public:
  /// Room for so many floats; what was in it before is lost.
  float* get(int64_t floats) {
    if (const int64_t bytes = floats * int64_t(sizeof(float)); bytes >= Arena::kAlignment / 8)
      return reinterpret_cast<float*>(large_.reserve(bytes));
    if (int64_t(small_.size()) < floats + 16) small_.resize(std::size_t(floats) + 16);
    const auto address = reinterpret_cast<uintptr_t>(small_.data());
    return small_.data() + (64 - address % 64) % 64 / sizeof(float);
  }

 private:
  std::vector<float> small_;
  Arena large_;
};

}  // namespace graphc::core::cpu
