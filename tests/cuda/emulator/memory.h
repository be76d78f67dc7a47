// SPDX-License-Identifier: Apache-2.0
// The memory of an emulated device: which bytes are allocated, and which of them were ever written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace graphc::core::cuda_emulator {

struct Allocation;

/// The allocations of a device. They lie in the host's memory, and a device's address is the
/// host's. One thread at a time may use it, run() included.
class DeviceMemory {
 public:
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// From now on kernels may use these bytes, none of which counts as written. `name` is what
  /// errors call them. They must not overlap another allocation.
  void add(void* begin, size_t bytes, std::string name);
  /// Ends the allocation that begins there.
  void remove(void* begin);

  /// The host wrote these bytes, by a copy to the device or a memset.
  void written_by_host(const void* begin, size_t bytes);
  /// The host reads these bytes: throws ErrorKind::internal if one was never written. Outside any
  /// allocation both throw.
  void read_by_host(const void* begin, size_t bytes) const;
  /// A copy within the device: the destination is as written as the source is.
  void copied(void* to, const void* from, size_t bytes);
  /// The bytes count as never written again.
  void forget(const void* begin, size_t bytes);

  /// The allocation that holds this address, null: none. For run().
  Allocation* find(uint64_t address) const;

 private:
  Allocation& holding(const void* begin, size_t bytes, const char* what) const;

  std::map<uint64_t, std::unique_ptr<Allocation>> allocations_;  // by their first address
};

}  // namespace graphc::core::cuda_emulator
