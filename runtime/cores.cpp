// SPDX-License-Identifier: Apache-2.0
// CPU affinity, topology and cgroup quota.
#include "runtime/cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "ir/error.h"

namespace graphc::core {
namespace {

struct Cpus {
  std::vector<int> cores;     ///< one CPU per core
  std::vector<int> siblings;  ///< the other hardware threads of these cores
};

/// A string that identifies a CPU's core, the same for its hardware threads; the CPU's own number
/// if the topology is unknown.
std::string core_of(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  std::string siblings;
  std::ifstream file(folder + "thread_siblings_list");
  if (!std::getline(file, siblings) || siblings.empty()) return std::to_string(cpu);
  return siblings;
}

Cpus allowed() {
  // The mask must be as long as the kernel's, whose length is unknown: grow it until it fits.
  for (int count = 1024;; count *= 2) {
    cpu_set_t* set = CPU_ALLOC(size_t(count));
    if (set == nullptr) throw resource_error("no memory for a mask of {} CPUs", count);
    const size_t size = CPU_ALLOC_SIZE(size_t(count));
    const bool read = sched_getaffinity(0, size, set) == 0;
    const int error = errno;
    Cpus cpus;
    std::set<std::string> seen;
    for (int cpu = 0; read && cpu < count; ++cpu) {
      if (!CPU_ISSET_S(size_t(cpu), size, set)) continue;
      (seen.insert(core_of(cpu)).second ? cpus.cores : cpus.siblings).push_back(cpu);
    }
    CPU_FREE(set);
    if (read) return cpus;
    if (error != EINVAL || count >= 1 << 20) {
      throw resource_error("cannot read which CPUs may be used: {}", std::strerror(error));
    }
  }
}

/// The quota in a cpu.max file, "max 100000" or "150000 100000" (quota and period, microseconds).
std::optional<double> quota_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::vector<int> allowed_cpus() {
  Cpus cpus = allowed();
  cpus.cores.insert(cpus.cores.end(), cpus.siblings.begin(), cpus.siblings.end());
  return cpus.cores;
}

std::optional<double> cgroup_cpu_quota(const std::filesystem::path& mount,
                                       const std::filesystem::path& membership) {
  std::ifstream file(membership);
  std::string line;
  while (std::getline(file, line)) {
    // The line of cgroup v2 is "0::/path"; those of v1 have other numbers.
    if (!line.starts_with("0::/")) continue;
    std::filesystem::path group = mount / std::filesystem::path(line.substr(4)).relative_path();
    std::optional<double> smallest = quota_in(mount / "cpu.max");
    for (; group.native().size() > mount.native().size(); group = group.parent_path()) {
      const std::optional<double> quota = quota_in(group / "cpu.max");
      if (quota && (!smallest || *quota < *smallest)) smallest = quota;
    }
    return smallest;
  }
  return std::nullopt;
}

int default_thread_count() {
  int count = int(allowed().cores.size());
  // A spinning team gains nothing from a fraction of a CPU: it would be throttled for the rest of
  // each period.
  if (const auto quota = cgroup_cpu_quota("/sys/fs/cgroup", "/proc/self/cgroup")) {
    count = std::min(count, int(std::min(*quota, 1e6)));
  }
  return std::max(count, 1);
}

}  // namespace graphc::core
