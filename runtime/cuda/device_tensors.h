// SPDX-License-Identifier: Apache-2.0
// Memory for tensors of runtime/device_tensor.h.
#pragma once

#include "runtime/cuda/device.h"
#include "runtime/device_tensor.h"

namespace graphc::core::cuda {

/// Memory of its own for a tensor, not initialised. Throws ErrorKind::resource if there is not
/// enough.
DeviceTensor new_device_tensor(const DevicePtr& device, const Type& type);

}  // namespace graphc::core::cuda
