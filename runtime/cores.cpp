// SPDX-License-Identifier: Apache-2.0
// CPU affinity, topology and cgroup quota.
#include "runtime/cores.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "ir/error.h"

namespace graphc::core {
namespace {

/// Processes of graphc that have the control group's quota together.
std::atomic<int> processes_of_quota{1};

/// A string that identifies a CPU's core, the same for its hardware threads; the CPU's own number
/// if the topology is unknown.
std::string core_of(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  std::string siblings;
  std::ifstream file(folder + "thread_siblings_list");
  if (!std::getline(file, siblings) || siblings.empty()) return std::to_string(cpu);
  return siblings;
}

}  // namespace

Cores allowed_cores() {
  // The mask must be as long as the kernel's, whose length is unknown: grow it until it fits.
  for (int count = 1024;; count *= 2) {
    cpu_set_t* set = CPU_ALLOC(size_t(count));
    if (set == nullptr) throw resource_error("no memory for a mask of {} CPUs", count);
    const size_t size = CPU_ALLOC_SIZE(size_t(count));
    const bool read = sched_getaffinity(0, size, set) == 0;
    const int error = errno;
    Cores cores;
    std::map<std::string, size_t> known;
    for (int cpu = 0; read && cpu < count; ++cpu) {
      if (!CPU_ISSET_S(size_t(cpu), size, set)) continue;
      const auto [core, is_new] = known.emplace(core_of(cpu), cores.size());
      if (is_new) cores.emplace_back();
      cores[core->second].push_back(cpu);
    }
    CPU_FREE(set);
    if (read) return cores;
    if (error != EINVAL || count >= 1 << 20) {
      throw resource_error("cannot read which CPUs may be used: {}", std::strerror(error));
    }
  }
}

namespace {

/// The quota in a cpu.max file, "max 100000" or "150000 100000" (quota and period, microseconds).
std::optional<double> quota_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> first, siblings;
  for (const std::vector<int>& core : allowed_cores()) {
    first.push_back(core[0]);
    siblings.insert(siblings.end(), core.begin() + 1, core.end());
  }
  std::ranges::sort(siblings);
  first.insert(first.end(), siblings.begin(), siblings.end());
  return first;
}

namespace {

/// Binds the calling thread to the CPUs for which `wanted` is true. Masks are at most 8192 CPUs.
template <typename Wanted>
void bind(const Wanted& wanted) {
  constexpr int kMost = 8192;
  cpu_set_t* set = CPU_ALLOC(kMost);
  if (set == nullptr) return;
  const size_t size = CPU_ALLOC_SIZE(kMost);
  CPU_ZERO_S(size, set);
  for (int cpu = 0; cpu < kMost; ++cpu) {
    if (wanted(cpu)) CPU_SET_S(size_t(cpu), size, set);
  }
  // Refused if none of them may be used: then the thread stays where it is.
  (void)sched_setaffinity(0, size, set);
  CPU_FREE(set);
}

}  // namespace

void run_on(const Cores& cores) {
  if (cores.empty()) return;
  bind([&](int cpu) {
    return std::ranges::any_of(cores, [cpu](const std::vector<int>& core) {
      return std::ranges::find(core, cpu) != core.end();
    });
  });
}

void allow_all_cpus() {
  bind([](int) { return true; });
}

void share_quota(int processes) { processes_of_quota = std::max(processes, 1); }

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
  int count = int(allowed_cores().size());
  // A spinning team gains nothing from a fraction of a CPU: it would be throttled for the rest of
  // each period.
  if (const auto quota = cgroup_cpu_quota("/sys/fs/cgroup", "/proc/self/cgroup")) {
    count = std::min(count, int(std::min(*quota / processes_of_quota, 1e6)));
  }
  return std::max(count, 1);
}

}  // namespace graphc::core
