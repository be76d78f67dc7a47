// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/launches/device_figures.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <utility>

#include "codegen/targets/cuda/loops/loop_placement.h"

namespace graphc::core::cuda {
namespace {

/// What devices were found to hold: clusters at a time, by the device's name and the logarithm of
/// their size.
class KnownClusters {
 public:
  static KnownClusters& of_process() {
    static KnownClusters known;
    return known;
  }

  void set(const Device& device, size_t size, int clusters) {
    const std::lock_guard lock(mutex_);
    known_[{key_of(device), size}] = clusters;
  }
  void read(const Device& device, Gpu& gpu) {
    const std::lock_guard lock(mutex_);
    for (size_t size = 0; size < gpu.clusters.size(); ++size) {
      const auto found = known_.find({key_of(device), size});
      if (found != known_.end()) gpu.clusters[size] = found->second;
    }
  }

 private:
  /// Parts of one device that MIG makes have its name, and fewer multiprocessors.
  static std::string key_of(const Device& device) {
    return device.properties().name + " " + std::to_string(device.properties().multiprocessors);
  }

  std::mutex mutex_;
  std::map<std::pair<std::string, size_t>, int> known_;
};

}  // namespace

Gpu gpu_of_device(const Device& device, const std::string& architecture) {
  Gpu gpu = gpu_of(architecture);
  gpu.capability =
      std::min(device.properties().major * 10 + device.properties().minor, gpu.capability);
  gpu.multiprocessors = device.properties().multiprocessors;
  gpu.memory_bytes = int64_t(device.properties().memory_bytes);
  gpu.shared_bytes = int64_t(device.properties().shared_per_block_optin);
  KnownClusters::of_process().read(device, gpu);
  return gpu;
}

bool ask_for_clusters(const Device& device, const Launches& launches,
                      const std::vector<KernelPtr>& kernels, Gpu& gpu) {
  bool differs = false;
  const Gpu before = gpu;
  for (const Launch& launch : launches.step) {
    if (launch.cluster <= 1) continue;
    const Kernel& kernel = kernels[size_t(launch.kernel)]->kernel;
    if (launch.shared_bytes > 0) kernel.allow_dynamic_shared(size_t(launch.shared_bytes));
    if (launch.cluster > kPortableCluster) kernel.allow_large_clusters();
    const int held = kernel.resident_clusters(launch.cluster, launch.grid.threads[0],
                                              size_t(launch.shared_bytes));
    const auto size = size_t(std::countr_zero(std::bit_ceil(launch.cluster)));
    // Without large clusters there is another placement.
    const bool has_none = held == 0 && launch.cluster > kPortableCluster;
    if (has_none && before.clusters[size] != 0) {
      gpu.clusters[size] = 0;
      KnownClusters::of_process().set(device, size, 0);
      differs = true;
    }
    const int64_t known = before.clusters_at_a_time(launch.cluster);
    // More of 14 blocks say nothing of those of 16.
    if (held == 0 || held == known || (held > known && !std::has_single_bit(launch.cluster)))
      continue;
    gpu.clusters[size] = held;
    KnownClusters::of_process().set(device, size, held);
    differs |= launch.placement->rounds(gpu) != launch.placement->rounds(before);
  }
  return differs;
}

}  // namespace graphc::core::cuda
