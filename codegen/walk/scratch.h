// SPDX-License-Identifier: Apache-2.0
// Memory that a thread reuses from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/arena.h"

namespace graphc::core::cpu {

/// An array of floats aligned to a cache line. It grows and never shrinks. Large arrays use huge
/// pages.
class Scratch {
 public:
  /// Room for `floats` floats; earlier contents are lost.
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
