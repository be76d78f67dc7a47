// SPDX-License-Identifier: Apache-2.0
// Random numbers on the host, the same on every machine.
#pragma once

#include <cstdint>

namespace graphc::core {

/// SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t operator()() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// Uniform in [0, 1), in steps of 2^-24.
  float uniform() { return float((*this)() >> 40) * 0x1p-24f; }
  /// In [0, limit), limit above 0.
  int64_t below(int64_t limit) { return int64_t((*this)() % uint64_t(limit)); }

 private:
  uint64_t state_;
};

}  // namespace graphc::core
