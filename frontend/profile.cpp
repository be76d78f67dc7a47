// SPDX-License-Identifier: Apache-2.0
#include "frontend/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace graphc::core {

namespace {

/// Billions per second.
std::string speed(double count, const KernelTime& time) {
  return count > 0 && time.seconds > 0 ? fmt::format("{:.1f}", count / time.seconds / 1e9) : "-";
}

}  // namespace

std::string line_of(const KernelTime& time) {
  if (!time.where) return "-";
  return fmt::format("{}:{}{}", time.where.file, time.where.line,
                     time.where.backward() ? " backward" : "");
}

std::string text_of(std::vector<KernelTime> times) {
  double all = 0;
  size_t width = 6;
  for (const KernelTime& time : times) {
    all += time.seconds;
    width = std::max(width, time.name.size() + time.what.size() + 2);
  }
  std::ranges::stable_sort(times, std::greater<>(), &KernelTime::seconds);
  std::string text =
      fmt::format("share        ms   calls  GFLOP/s     GB/s  {:<{}}  line\n", "kernel", width);
  for (const KernelTime& time : times) {
    const std::string line = line_of(time);
    text += fmt::format("{:>4.1f}%  {:>8.4f}  {:>6}  {:>7}  {:>7}  {:<{}}  {}\n",
                        all > 0 ? 100 * time.seconds / all : 0, time.seconds * 1e3, time.calls,
                        speed(time.flop, time), speed(time.bytes, time),
                        time.what + " %" + time.name, width, line);
  }
  return text + fmt::format("all    {:>8.4f}\n", all * 1e3);
}

void print(const std::vector<KernelTime>& times) { std::fputs(text_of(times).c_str(), stdout); }

}  // namespace graphc::core
