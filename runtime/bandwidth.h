// SPDX-License-Identifier: Apache-2.0
// Measured read bandwidth of this machine, the reference for kernels with little arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/caches.h"
#include "runtime/thread_team.h"

namespace graphc::core {

/// The bytes that each thread reads repeatedly, sized to fit one level of the memory hierarchy.
struct WorkingSet {
  std::string from;  ///< "second-level cache", "shared cache", "memory"
  int64_t bytes_of_thread = 0;
};

/// Half of the second-level cache. Then eight times that cache, or a thread's part of three
/// quarters of the shared cache if that is less, but at least twice the second-level cache. Then
/// 512 MiB in total, or twice the shared cache if that is more.
std::vector<WorkingSet> working_sets(const CacheSizes& caches, int threads);

/// The aggregate GB/s (10^9 bytes) of all threads of the team. Each reads its own `bytes_of_thread`
/// sequentially with the widest vectors of the CPU. The best of ten rounds of some milliseconds; a
/// round starts on all threads together and ends with the last. Throws ErrorKind::resource if there
/// is not enough memory.
double measure_read_bandwidth(ThreadTeam& team, int64_t bytes_of_thread);

/// The seconds per barrier of the team if all threads arrive at once: the best of ten rounds of
/// many barriers, run like a compiled step (ThreadTeam::run_step()).
double measure_barrier(ThreadTeam& team);

}  // namespace graphc::core
