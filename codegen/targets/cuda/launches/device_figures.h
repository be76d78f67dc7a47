// SPDX-License-Identifier: Apache-2.0
// What placements of loops need to know of a device, and what only the device can say.
#pragma once

#include <string>
#include <vector>

#include "codegen/targets/cuda/launches/code.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/machine.h"
#include "runtime/cuda/device.h"

namespace graphc::core::cuda {

/// Maximum blocks of a cluster that every device with clusters supports.
inline constexpr unsigned kPortableCluster = 8;

/// The properties of the device, as far as code of that architecture can use them, with what
/// ask_for_clusters() has learned of it in this process.
Gpu gpu_of_device(const Device& device, const std::string& architecture);

/// Asks the device how many clusters of each loop it runs at a time (cuOccupancyMaxActiveClusters).
/// Returns whether a loop takes other rounds than its placement was chosen for, or has clusters of
/// more than kPortableCluster blocks and the device runs none; `gpu` then knows better. A device
/// that can run none is refused where the launch is recorded.
bool ask_for_clusters(const Device& device, const Launches& launches,
                      const std::vector<KernelPtr>& kernels, Gpu& gpu);

}  // namespace graphc::core::cuda
