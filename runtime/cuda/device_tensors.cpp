// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/device_tensors.h"

#include "runtime/cuda/stream.h"

namespace graphc::core {

DeviceTensor cuda::new_device_tensor(const DevicePtr& device, const Type& type) {
  const KeptContext context;
  auto memory =
      std::make_shared<DeviceBuffer>(device, size_t(type.bytes()), "a tensor of the caller");
  const CUdeviceptr address = memory->address();
  return {type, device->ordinal(), address, std::move(memory)};
}

DeviceTensor copy_to_device(const Tensor& from, int ordinal) {
  const cuda::KeptContext context;
  const cuda::DevicePtr device = cuda::Device::open(ordinal);
  DeviceTensor to = cuda::new_device_tensor(device, from.type());
  const cuda::Stream stream(device);
  device->make_current();
  stream.copy_to_device(to.address(), from.address(), size_t(from.type().bytes()), "a tensor");
  stream.synchronize("a copy");
  return to;
}

Tensor to_host(const DeviceTensor& from, DeviceStream stream) {
  const cuda::KeptContext context;
  Tensor to(from.type());
  const cuda::Stream callers = cuda::Stream::borrowed(cuda::Device::open(from.device()), stream);
  callers.copy_to_host(to.address(), from.address(), size_t(from.type().bytes()), "a tensor");
  callers.synchronize("a copy");
  return to;
}

}  // namespace graphc::core
