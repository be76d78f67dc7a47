// SPDX-License-Identifier: Apache-2.0
// Tensors in the memory of a GPU: arguments and results of executables that run there, and copies
// from and to the host.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "runtime/tensor.h"

namespace graphc::core {

/// A caller's queue of work on a GPU: the value of a CUstream or a cudaStream_t. 0 is the default
/// stream.
using DeviceStream = uint64_t;

/// A type, and where its row-major elements are in the memory of a GPU. A copy is another view of
/// them. Elements of bool are bytes that are 0 or 1, which nobody checks.
class DeviceTensor {
 public:
  /// Elements at `address` in the memory of GPU `device`, counted from 0. They live as long as
  /// `owner`, or without one as long as the caller says.
  DeviceTensor(const Type& type, int device, uint64_t address, std::shared_ptr<void> owner = {})
      : type_(type), device_(device), address_(address), owner_(std::move(owner)) {}

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  int device() const { return device_; }
  uint64_t address() const { return address_; }

 private:
  Type type_;
  int device_;
  uint64_t address_;
  std::shared_ptr<void> owner_;
};

/// A copy in the memory of a GPU, counted from 0. Waits for the copy. Throws ErrorKind::resource if
/// there is no such GPU, or not enough memory.
DeviceTensor copy_to_device(const Tensor& from, int device);

/// A copy in the host's memory, of what the tensor holds after the work that is in `stream` now.
/// Waits for it.
Tensor to_host(const DeviceTensor& from, DeviceStream stream = 0);

/// A tensor in the host's memory or in that of a GPU.
using AnyTensor = std::variant<Tensor, DeviceTensor>;

inline const Type& type_of(const AnyTensor& tensor) {
  return std::visit([](const auto& one) -> const Type& { return one.type(); }, tensor);
}

}  // namespace graphc::core
