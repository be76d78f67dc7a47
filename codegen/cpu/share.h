// SPDX-License-Identifier: Apache-2.0
// How work is shared out to the threads of a team.
#pragma once

#include <algorithm>
#include <cstdint>

namespace graphc::cpu {

struct Range {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  bool contains(int64_t i) const { return begin <= i && i < end; }
};

/// The share of one thread of [0, count) in whole grains.
inline Range share(int64_t count, int64_t grain, int thread, int threads) {
  const int64_t grains = (count + grain - 1) / grain;
  return {std::min(grains * thread / threads * grain, count),
          std::min(grains * (thread + 1) / threads * grain, count)};
}

}  // namespace graphc::cpu
