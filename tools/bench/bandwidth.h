// SPDX-License-Identifier: Apache-2.0
// How fast the machine reads from each of its memories, as graphc-bench --bandwidth says it.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "runtime/bandwidth.h"

namespace graphc::core::bench {

/// A working set, and what all threads together read of such sets.
struct Bandwidth {
  WorkingSet set;
  double gb_per_s = 0;
};

/// What a machine's threads do to its memory and to each other.
struct MachineSpeed {
  std::vector<Bandwidth> bandwidths;
  double meeting_s = 0;  ///< of all threads
};

/// Measures every working set of this machine, and a meeting, on so many threads.
MachineSpeed measure_machine(int threads, const CacheSizes& caches);

/// A line for each working set, in columns or as Markdown, and a sentence on the meeting.
std::string table(const MachineSpeed& speed, bool markdown);

/// {"environment": ..., "threads": ..., "caches": ..., "bandwidth": [...], "meeting_us": ...};
/// `caches` has what the system says, or what its second-level caches are taken for.
nlohmann::ordered_json to_json(const MachineSpeed& speed, int threads, const CacheSizes& caches);

}  // namespace graphc::core::bench
