// SPDX-License-Identifier: Apache-2.0
// Which CPUs this process may use, and how many of them are worth a thread.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace graphc::core {

/// The CPUs the calling thread may run on, one of each core first, then the cores' other hardware
/// threads.
std::vector<int> allowed_cpus();

/// The cores this process may use: the distinct cores among allowed_cpus(), and no more than the
/// CPU quota of its control group (cgroup v2, `cpu.max`) allows; at least 1.
int default_thread_count();

/// The smallest quota, in CPUs, set on the control group named in the file `membership`
/// (/proc/self/cgroup) or on any group around it below `mount`; nothing when there is none.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& mount,
                                       const std::filesystem::path& membership);

}  // namespace graphc::core
