// SPDX-License-Identifier: Apache-2.0
// The CPUs this process may use, and the number of threads worth running on them.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace graphc::core {

/// The CPUs the calling thread may run on: first one per core, then the cores' other hardware
/// threads.
std::vector<int> allowed_cpus();

/// The default number of threads: the distinct cores among allowed_cpus(), limited by the CPU quota
/// of the control group (cgroup v2, `cpu.max`); at least 1.
int default_thread_count();

/// The smallest quota, in CPUs, of the control group named in the file `membership`
/// (/proc/self/cgroup) and of its parents below `mount`; empty if there is none.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& mount,
                                       const std::filesystem::path& membership);

}  // namespace graphc::core
