// SPDX-License-Identifier: Apache-2.0
// Shared by the examples: reproducible numbers for data, and the timing of a step.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <vector>

#include "frontend/graphc.h"

using namespace graphc;

/// A sequence that is the same everywhere: integers 0 .. below - 1.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  int32_t below(int32_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return int32_t((state_ >> 33) % uint64_t(limit));
  }

 private:
  uint64_t state_;
};

inline Literal integers(const std::vector<int32_t>& values, const Shape& shape) {
  return Literal(std::span<const int32_t>(values), shape);
}
inline Literal floats(const std::vector<float>& values, const Shape& shape) {
  return Literal(std::span<const float>(values), shape);
}

/// Prints how to call the program; returns the exit code of a wrong command line.
inline int usage(std::string_view call) {
  fmt::print(stderr, "usage: {}\n", call);
  return 2;
}

/// With `--time` as the last argument: prints the median time of a step and returns true, which
/// ends the program. With `--once`: the same after one step, without printing.
inline bool timed(int argc, char** argv, const std::function<void()>& step) {
  const std::string_view last = argv[argc - 1];
  if (last == "--once") step();
  if (last != "--time") return last == "--once";
  for (int i = 0; i < 20; ++i) step();
  std::vector<double> seconds;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    step();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + 100);
  fmt::print("{:.3f} ms a step\n", 1000 * seconds[100]);
  return true;
}
