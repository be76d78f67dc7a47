// SPDX-License-Identifier: Apache-2.0
// A loop of loads and additions, one version per vector width, chosen by the CPU's features. Eight
// independent sums: no load waits for an addition.
#include "runtime/bandwidth.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/error.h"
#include "runtime/arena.h"
#include "runtime/clock.h"

namespace graphc::core {
namespace {

constexpr double kRoundSeconds = 0.005;
constexpr int kRounds = 10;
constexpr int kSums = 8;
/// Divides every working set, so that loops have no remainder.
constexpr int64_t kUnit = 4096;

template <typename Vector>
[[gnu::always_inline]] inline uint64_t sum_of(const std::byte* begin, int64_t bytes) {
  // Forces the compiler to reload the same bytes in the next pass.
  asm volatile("" : : "r"(begin) : "memory");
  const auto* from = reinterpret_cast<const Vector*>(begin);
  const Vector* const end = from + bytes / int64_t(sizeof(Vector));
  Vector sums[kSums] = {};
  for (; from != end; from += kSums) {
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) sums[i] += from[i];
  }
  uint64_t sum = 0;
  for (const Vector& each : sums) {
    for (size_t i = 0; i < sizeof(Vector) / sizeof(uint64_t); ++i) sum += each[i];
  }
  return sum;
}

using Read = uint64_t (*)(const std::byte* begin, int64_t bytes);

#if defined(__x86_64__)

__attribute__((target("avx512f"), noinline)) uint64_t read_avx512(const std::byte* begin,
                                                                  int64_t bytes) {
  using Vector = uint64_t __attribute__((vector_size(64)));
  return sum_of<Vector>(begin, bytes);
}

__attribute__((target("avx2"), noinline)) uint64_t read_avx2(const std::byte* begin,
                                                             int64_t bytes) {
  using Vector = uint64_t __attribute__((vector_size(32)));
  return sum_of<Vector>(begin, bytes);
}

#endif

__attribute__((noinline)) uint64_t read_baseline(const std::byte* begin, int64_t bytes) {
  using Vector = uint64_t __attribute__((vector_size(16)));
  return sum_of<Vector>(begin, bytes);
}

Read widest_read() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return read_avx512;
  if (__builtin_cpu_supports("avx2")) return read_avx2;
#endif
  return read_baseline;
}

/// One thread's part of a round.
struct alignas(128) Reading {
  double begin = 0, end = 0;
  uint64_t sum = 0;
};

/// From the first start to the last end.
double seconds_of(const std::vector<Reading>& readings) {
  return std::ranges::max_element(readings, {}, &Reading::end)->end -
         std::ranges::min_element(readings, {}, &Reading::begin)->begin;
}

}  // namespace

std::vector<WorkingSet> working_sets(const CacheSizes& caches, int threads) {
  const int64_t second = caches.second_level > 0 ? caches.second_level : kAssumedSecondLevel;
  int64_t shared = 8 * second;
  if (caches.shared > 0) shared = std::min(shared, caches.shared / 4 * 3 / threads);
  shared = std::max(shared, 2 * second);
  const int64_t memory = std::max(int64_t{512} << 20, 2 * caches.shared) / threads;
  std::vector<WorkingSet> sets{
      {"second-level cache", second / 2}, {"shared cache", shared}, {"memory", memory}};
  for (WorkingSet& set : sets)
    set.bytes_of_thread = std::max(kUnit, set.bytes_of_thread / kUnit * kUnit);
  return sets;
}

double measure_read_bandwidth(ThreadTeam& team, int64_t bytes_of_thread) {
  GRAPHC_CHECK(bytes_of_thread > 0 && bytes_of_thread % kUnit == 0, "{} bytes of a thread",
               bytes_of_thread);
  Arena arena;
  std::byte* const all = arena.reserve(bytes_of_thread * team.size());
  const Read read = widest_read();
  int64_t passes = 1;
  double best = 0;
  std::vector<Reading> readings(size_t(team.size()));
  team.run([&](int thread) {
    std::byte* const own = all + thread * bytes_of_thread;
    // First touch places the memory near this thread; until then all pages are one shared page of
    // zeros.
    std::memset(own, 1, size_t(bytes_of_thread));
    Reading& reading = readings[size_t(thread)];
    reading.sum = read(own, bytes_of_thread);
    // The first round determines the number of passes of the others.
    for (int round = -1; round < kRounds; ++round) {
      team.barrier(thread);
      reading.begin = steady_seconds();
      for (int64_t pass = 0; pass < passes; ++pass) reading.sum += read(own, bytes_of_thread);
      reading.end = steady_seconds();
      team.barrier(thread);
      if (thread != 0) continue;
      const double seconds = std::max(seconds_of(readings), 1e-9);
      if (round < 0) {
        passes = std::max<int64_t>(1, std::llround(kRoundSeconds / seconds));
      } else {
        best = std::max(best, double(passes) * double(bytes_of_thread) / seconds);
      }
    }
  });
  for (const Reading& reading : readings)
    GRAPHC_CHECK(reading.sum != 0, "the bytes of the bandwidth's loop were not read");
  return best * team.size() * 1e-9;
}

double measure_barrier(ThreadTeam& team) {
  constexpr int kBarriers = 10'000;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    double begun = 0, ended = 0;
    team.run_step([&](int thread) {
      team.barrier(thread);
      if (thread == 0) begun = steady_seconds();
      for (int i = 0; i < kBarriers; ++i) team.barrier(thread);
      if (thread == 0) ended = steady_seconds();
    });
    best = std::min(best, (ended - begun) / kBarriers);
  }
  return best;
}

}  // namespace graphc::core
