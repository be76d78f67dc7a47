// SPDX-License-Identifier: Apache-2.0
// How fast this machine reads, measured: what the speed of kernels with few products is held
// against.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/thread_team.h"

namespace graphc::core {

/// Sizes in bytes; 0 where the system does not say.
struct CacheSizes {
  int64_t second_level = 0;  ///< of one core
  int64_t shared = 0;        ///< the third level, of all cores that share it
};

/// The caches of a CPU, as Linux describes them in `folder`: of this one's first CPU unless given.
CacheSizes cache_sizes(const std::filesystem::path& folder = "/sys/devices/system/cpu/cpu0/cache");

/// What a second-level cache is taken for where the system does not say.
inline constexpr int64_t kAssumedSecondLevel = int64_t{1} << 20;

/// How much each thread reads over and over, so that it comes from one place.
struct WorkingSet {
  std::string from;  ///< "second-level cache", "shared cache", "memory"
  int64_t bytes_of_thread = 0;
};

/// Half of the second-level cache; eight times as much as that cache has, or what three quarters of
/// the shared cache leave a thread if that is less, but never less than twice; and together 512
/// MiB, or twice the shared cache if that is more.
std::vector<WorkingSet> working_sets(const CacheSizes& caches, int threads);

/// The GB/s (10^9 bytes) that all threads of the team together read, each `bytes_of_thread` of its
/// own, from front to back in the widest vectors the CPU has: the best of ten rounds, each of some
/// milliseconds, that all begin together and that end when the last has read. Throws
/// ErrorKind::resource when there is no such memory.
double measure_read_bandwidth(ThreadTeam& team, int64_t bytes_of_thread);

/// The seconds that a meeting of all threads of the team takes when all come at once: the best of
/// ten rounds of many, in the way of a compiled step (ThreadTeam::run_step()).
double measure_meeting(ThreadTeam& team);

}  // namespace graphc::core
