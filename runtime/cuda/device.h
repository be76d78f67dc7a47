// SPDX-License-Identifier: Apache-2.0
// A GPU: its properties, its memory, and modules loaded into it. All resources are released by
// RAII; failures throw as described at check() in driver.h.
//
// A thread calls Device::make_current() before it launches, copies or synchronises. Functions that
// create or destroy objects do so themselves. Objects may be destroyed on any thread and in any
// order: each keeps its device alive.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/cuda/driver.h"

namespace graphc::core::cuda {

struct DeviceProperties {
  std::string name;  ///< "NVIDIA H100 80GB HBM3"
  int major = 0;     ///< compute capability
  int minor = 0;
  int multiprocessors = 0;
  int clock_khz = 0;
  int warp_size = 0;
  int max_threads_per_block = 0;
  int max_threads_per_multiprocessor = 0;
  int max_blocks_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  size_t shared_per_block = 0;        ///< bytes, static
  size_t shared_per_block_optin = 0;  ///< bytes, static and dynamic, after allow_dynamic_shared()
  size_t shared_per_multiprocessor = 0;
  size_t l2_bytes = 0;
  size_t memory_bytes = 0;
  bool cooperative_launch = false;
  bool cluster_launch = false;
};

class Device;
using DevicePtr = std::shared_ptr<const Device>;

/// A GPU and its primary context, which the process shares with other libraries.
class Device {
 public:
  /// The number of GPUs; 0 without a driver.
  static int count();
  /// Opens the GPU with this number, from 0. Throws ErrorKind::resource if there is none.
  static DevicePtr open(int ordinal = 0);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceProperties& properties() const { return properties_; }
  int ordinal() const { return device_; }
  /// The architecture for compile_text(): architecture_for() its compute capability.
  std::string architecture() const;
  /// Makes its context current on the calling thread.
  void make_current() const;
  /// The same before a destruction, which must not throw.
  void make_current_for_destruction() const noexcept;
  /// Free memory in bytes, out of the total in properties().
  size_t free_memory() const;

 private:
  explicit Device(int ordinal);

  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  DeviceProperties properties_;
};

/// Gives the calling thread its context back at the end of a call that makes others current: a
/// library beside us may have its own there. A thread that had none keeps ours, without which an
/// object whose destruction fails to make its context current would be lost.
class KeptContext {
 public:
  KeptContext();
  ~KeptContext();
  KeptContext(const KeptContext&) = delete;

 private:
  CUcontext before_ = nullptr;
};

/// A driver handle or address that belongs to a device and is released by `destroy`. Moves; does
/// not copy.
template <typename Handle>
class Owned {
 public:
  using Destroy = CUresult (*)(Handle);

  Owned() = default;
  Owned(DevicePtr device, Handle handle, Destroy destroy)
      : device_(std::move(device)), handle_(handle), destroy_(destroy) {}
  Owned(Owned&& other) noexcept
      : device_(std::move(other.device_)),
        handle_(std::exchange(other.handle_, Handle{})),
        destroy_(other.destroy_) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this == &other) return *this;
    reset();
    device_ = std::move(other.device_);
    handle_ = std::exchange(other.handle_, Handle{});
    destroy_ = other.destroy_;
    return *this;
  }
  ~Owned() { reset(); }

  Handle get() const { return handle_; }
  const DevicePtr& device() const { return device_; }

 private:
  void reset() noexcept {
    if (handle_ == Handle{}) return;
    const KeptContext context;
    device_->make_current_for_destruction();
    destroy_(std::exchange(handle_, Handle{}));
    device_.reset();
  }

  DevicePtr device_;
  Handle handle_{};
  Destroy destroy_ = nullptr;
};

/// Memory of a device.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// `what` is its purpose, for errors: "the arena". 0 bytes allocate nothing, at address 0. Throws
  /// ErrorKind::resource if there is not enough memory, with the free memory as a note.
  DeviceBuffer(const DevicePtr& device, size_t bytes, std::string_view what);

  CUdeviceptr address() const { return memory_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  Owned<CUdeviceptr> memory_;
  size_t bytes_ = 0;
};

/// Pinned host memory, for copies that overlap other work.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(const DevicePtr& device, size_t bytes, std::string_view what);

  void* data() const { return memory_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  Owned<void*> memory_;
  size_t bytes_ = 0;
};

/// A `__global__` function of a module; valid as long as the module.
class Kernel {
 public:
  Kernel() = default;

  const std::string& name() const { return name_; }
  CUfunction function() const { return function_; }
  /// Allows launches with this much dynamic shared memory; the default limit is 48 KiB minus the
  /// static.
  void allow_dynamic_shared(size_t bytes) const;
  /// The compiler's allocation: registers per thread, bytes of local memory per thread (spills and
  /// arrays), bytes of static shared memory per block, and the maximum number of threads per block.
  int registers() const { return attribute(CU_FUNC_ATTRIBUTE_NUM_REGS); }
  int local_bytes() const { return attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES); }
  int shared_bytes() const { return attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES); }
  int max_threads() const { return attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK); }
  /// The number of blocks of this size that a multiprocessor can hold at a time.
  int resident_blocks(int threads, size_t dynamic_shared) const;
  /// The number of clusters of this size that the device can hold at a time; 0: none.
  int resident_clusters(unsigned blocks, unsigned threads, size_t dynamic_shared) const;
  /// Allows clusters of more than 8 blocks, which not every device supports.
  void allow_large_clusters() const;

 private:
  friend class Module;
  Kernel(CUfunction function, std::string name) : function_(function), name_(std::move(name)) {}
  int attribute(CUfunction_attribute attribute) const;
  void set(CUfunction_attribute attribute, int value, std::string_view what) const;

  CUfunction function_ = nullptr;
  std::string name_;
};

/// A loaded CUBIN or PTX.
class Module {
 public:
  Module() = default;
  /// `name` is its name in errors. If it cannot be loaded, throws with the driver's log as a note.
  Module(const DevicePtr& device, const std::string& image, std::string_view name);

  /// Throws ErrorKind::internal if there is no such kernel.
  Kernel kernel(const std::string& name) const;

 private:
  Owned<CUmodule> module_;
  std::string name_;
};

}  // namespace graphc::core::cuda
