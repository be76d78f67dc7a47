// SPDX-License-Identifier: Apache-2.0
// Objects of CUDA libraries other than the driver: handles and descriptors.
#pragma once

#include <utility>

#include "runtime/cuda/driver_types.h"

namespace graphc::core::cuda {

/// A device address in the form that these libraries take.
inline void* pointer_to(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

/// A handle destroyed by a function of its library. Moves; does not copy.
template <typename Handle, typename Status>
class LibraryObject {
 public:
  using Destroy = Status (*)(Handle);

  LibraryObject() = default;
  LibraryObject(Handle handle, Destroy destroy) : handle_(handle), destroy_(destroy) {}
  LibraryObject(LibraryObject&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), destroy_(other.destroy_) {}
  LibraryObject& operator=(LibraryObject&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~LibraryObject() {
    if (handle_ != nullptr) destroy_(handle_);
  }

  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  Destroy destroy_ = nullptr;
};

}  // namespace graphc::core::cuda
