// SPDX-License-Identifier: Apache-2.0
// The caches of this machine's processor.
#pragma once

#include <cstdint>
#include <filesystem>

namespace graphc::core {

/// Sizes in bytes; 0 if unknown.
struct CacheSizes {
  int64_t second_level = 0;  ///< per core
  int64_t shared = 0;        ///< third level, shared by several cores
};

/// The caches of a CPU, as Linux describes them in `folder`; by default those of CPU 0.
CacheSizes cache_sizes(const std::filesystem::path& folder = "/sys/devices/system/cpu/cpu0/cache");

/// The assumed size of an unknown second-level cache.
inline constexpr int64_t kAssumedSecondLevel = int64_t{1} << 20;

/// Bytes of a core's second-level cache, as Linux says, but no less than 256 KB and no more than 4
/// MB; a megabyte where it does not.
int64_t second_level_cache();

}  // namespace graphc::core
