// SPDX-License-Identifier: Apache-2.0
// How fast the machine reads from each of its memories, as graphc-bench --bandwidth says it.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "runtime/bandwidth.h"

namespace graphc::bench {

/// A working set, and what all threads together read of such sets.
struct Bandwidth {
  WorkingSet set;
  double gb_per_s = 0;
};

/// Measures every working set of this machine, on so many threads.
std::vector<Bandwidth> measure_bandwidths(int threads, const CacheSizes& caches);

/// A line for each, in columns or as Markdown.
std::string table(std::span<const Bandwidth> all, bool markdown);

/// {"environment": ..., "threads": ..., "caches": ..., "bandwidth": [...]}; `caches` has what the
/// system says, or what its second-level caches are taken for.
nlohmann::ordered_json to_json(std::span<const Bandwidth> all, int threads,
                               const CacheSizes& caches);

}  // namespace graphc::bench
