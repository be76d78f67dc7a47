// SPDX-License-Identifier: Apache-2.0
// Which GPU a rank has, and what connects it with those of the other ranks.
#pragma once

#include <memory>

#include "runtime/cuda/nccl.h"
#include "runtime/ranks/ranks.h"

namespace graphc::core::cuda {

/// The GPU of this rank: that with the number of its rank on this machine, or the only one that it
/// sees, where a launcher shows every rank its own. The first GPU where there is one rank, or
/// `ranks` is null. If `wanted` is not negative, the GPU of that number instead. Throws
/// ErrorKind::resource if there are fewer GPUs than ranks on this machine, or not the wanted one.
DevicePtr device_of(const Ranks* ranks, int wanted = -1);

/// The communicator of these ranks' GPUs, kept as long as somebody has it. The first call is
/// collective: it begins NCCL, by an identifier of rank 0, and tries it. Throws ErrorKind::resource
/// if NCCL is missing on a rank, on every rank, or if it does not connect them.
std::shared_ptr<const NcclCommunicator> communicator_of(const std::shared_ptr<Ranks>& ranks,
                                                        const DevicePtr& device);

}  // namespace graphc::core::cuda
