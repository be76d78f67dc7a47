// SPDX-License-Identifier: Apache-2.0
// Read bandwidth per level of the memory hierarchy, for graphc-bench --bandwidth.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "runtime/bandwidth.h"

namespace graphc::core::bench {

/// A working set and the aggregate bandwidth of all threads on it.
struct Bandwidth {
  WorkingSet set;
  double gb_per_s = 0;
};

/// Memory bandwidth and barrier latency of a machine.
struct MachineSpeed {
  std::vector<Bandwidth> bandwidths;
  double barrier_s = 0;  ///< per barrier of all threads
};

/// Measures every working set of this machine, and a barrier, with this many threads.
MachineSpeed measure_machine(int threads, const CacheSizes& caches);

/// One line per working set, in columns or as Markdown, and a sentence on the barrier.
std::string table(const MachineSpeed& speed, bool markdown);

/// {"environment": ..., "threads": ..., "caches": ..., "bandwidth": [...], "barrier_us": ...};
/// `caches` has the sizes reported by the system, or the assumed second-level size.
nlohmann::ordered_json to_json(const MachineSpeed& speed, int threads, const CacheSizes& caches);

}  // namespace graphc::core::bench
