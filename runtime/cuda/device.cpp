// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/device.h"

#include <fmt/format.h>

#include <array>

#include "runtime/cuda/nvrtc.h"

namespace graphc::core::cuda {
namespace {

int attribute_of(CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  if (const CUresult error = driver().cuDeviceGetAttribute(&value, attribute, device)) {
    check(error, "cuDeviceGetAttribute", fmt::format("attribute {}", int(attribute)));
  }
  return value;
}

DeviceProperties properties_of(CUdevice device) {
  DeviceProperties properties;
  std::array<char, 256> name{};
  check(driver().cuDeviceGetName(name.data(), int(name.size()) - 1, device), "cuDeviceGetName");
  properties.name = name.data();
  check(driver().cuDeviceTotalMem(&properties.memory_bytes, device), "cuDeviceTotalMem");
  const auto get = [&](CUdevice_attribute attribute) { return attribute_of(device, attribute); };
  properties.major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  properties.minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  properties.multiprocessors = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  properties.clock_khz = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  properties.warp_size = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  properties.max_threads_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  properties.max_threads_per_multiprocessor =
      get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  properties.max_blocks_per_multiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  properties.registers_per_multiprocessor =
      get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  properties.shared_per_block = size_t(get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  properties.shared_per_block_optin =
      size_t(get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  properties.shared_per_multiprocessor =
      size_t(get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  properties.l2_bytes = size_t(get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  properties.cooperative_launch = get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0;
  properties.cluster_launch = get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0;
  return properties;
}

}  // namespace

int Device::count() {
  if (!driver_present()) return 0;
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

DevicePtr Device::open(int ordinal) {
  driver();  // without a driver, reports why
  const int count = Device::count();
  if (ordinal < 0 || ordinal >= count) {
    throw resource_error("no GPU {}: there {} {}", ordinal, count == 1 ? "is" : "are", count);
  }
  DevicePtr device(new Device(ordinal));
  device->make_current();
  return device;
}

Device::Device(int ordinal) {
  check(driver().cuDeviceGet(&device_, ordinal), "cuDeviceGet", fmt::format("GPU {}", ordinal));
  properties_ = properties_of(device_);
  // Last: the destructor does not run if the constructor throws.
  check(driver().cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain",
        properties_.name);
}

Device::~Device() { driver().cuDevicePrimaryCtxRelease(device_); }

std::string Device::architecture() const {
  return architecture_for(properties_.major, properties_.minor);
}

void Device::make_current() const { check(driver().cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

void Device::make_current_for_destruction() const noexcept {
  // If this fails, the thread's own context may still own the object.
  driver().cuCtxSetCurrent(context_);
}

KeptContext::KeptContext() {
  // If this fails, there is nothing to give back.
  if (driver_present()) driver().cuCtxGetCurrent(&before_);
}

KeptContext::~KeptContext() {
  // One that was current all along may be gone by now.
  CUcontext now = nullptr;
  if (before_ == nullptr || driver().cuCtxGetCurrent(&now) != CUDA_SUCCESS || now == before_)
    return;
  driver().cuCtxSetCurrent(before_);
}

size_t Device::free_memory() const {
  make_current();
  size_t free = 0, total = 0;
  check(driver().cuMemGetInfo(&free, &total), "cuMemGetInfo");
  return free;
}

DeviceBuffer::DeviceBuffer(const DevicePtr& device, size_t bytes, std::string_view what)
    : bytes_(bytes) {
  if (bytes == 0) return;
  device->make_current();
  CUdeviceptr address = 0;
  if (const CUresult result = driver().cuMemAlloc(&address, bytes)) {
    Error error = error_of(result, "cuMemAlloc", fmt::format("{} for {}", in_bytes(bytes), what));
    size_t free = 0, total = 0;
    if (result == CUDA_ERROR_OUT_OF_MEMORY &&
        driver().cuMemGetInfo(&free, &total) == CUDA_SUCCESS) {
      error.note(fmt::format("{} of {} are free on the {}", in_bytes(free), in_bytes(total),
                             device->properties().name));
    }
    throw error;
  }
  memory_ = Owned<CUdeviceptr>(device, address, driver().cuMemFree);
}

PinnedBuffer::PinnedBuffer(const DevicePtr& device, size_t bytes, std::string_view what)
    : bytes_(bytes) {
  if (bytes == 0) return;
  device->make_current();
  void* address = nullptr;
  if (const CUresult error = driver().cuMemHostAlloc(&address, bytes, 0)) {
    check(error, "cuMemHostAlloc", fmt::format("{} for {}", in_bytes(bytes), what));
  }
  memory_ = Owned<void*>(device, address, driver().cuMemFreeHost);
}

}  // namespace graphc::core::cuda
