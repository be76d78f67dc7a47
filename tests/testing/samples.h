// SPDX-License-Identifier: Apache-2.0
// Samples: cases of many attempts make a fixed share of them in every run, and all of them with
// `tools/test --slow`, which sets GRAPHC_WHOLE_SAMPLES. A sample has every op, cell, type,
// precision, placement and call; what it halves are their combinations, and the numbers of random
// attempts.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace graphc::core::testing {

/// Whether cases try all that they could.
inline bool whole_samples() {
  const char* value = std::getenv("GRAPHC_WHOLE_SAMPLES");
  return value != nullptr && *value != '\0';
}

/// Whether the attempt of this number is made: every `share`th, or all with whole_samples(). What
/// `number` counts must not be in step with `share`, or the sample has one kind alone.
inline bool is_sampled(size_t number, size_t share) {
  return number % share == 0 || whole_samples();
}

/// How many of `whole` attempts at random are made: half, or all with whole_samples().
inline unsigned half_of(unsigned whole) { return whole_samples() ? whole : (whole + 1) / 2; }

}  // namespace graphc::core::testing
