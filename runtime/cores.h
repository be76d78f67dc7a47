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

/// Cores, each as its CPUs (hardware threads).
using Cores = std::vector<std::vector<int>>;

/// The CPUs of allowed_cpus() by core.
Cores allowed_cores();

/// Binds the calling thread, and the threads it creates from now on, to these cores. Does nothing
/// for no cores, or where the system refuses.
void run_on(const Cores& cores);

/// Undoes the binding of the calling thread, as far as the system lets it.
void allow_all_cpus();

/// Divides the quota of the control group among so many processes of graphc: for
/// default_thread_count().
void share_quota(int processes);

/// The default number of threads: the distinct cores among allowed_cpus(), limited by the CPU quota
/// of the control group (cgroup v2, `cpu.max`); at least 1.
int default_thread_count();

/// The smallest quota, in CPUs, of the control group named in the file `membership`
/// (/proc/self/cgroup) and of its parents below `mount`; empty if there is none.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& mount,
                                       const std::filesystem::path& membership);

}  // namespace graphc::core
