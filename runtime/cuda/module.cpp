// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <sstream>

#include "runtime/cuda/device.h"
#include "runtime/cuda/nvrtc.h"

namespace graphc::core::cuda {
namespace {

/// The size of the driver's log buffer.
constexpr size_t kLogBytes = 8192;

/// The error for a module that cannot be loaded, with the driver's log and the versions, which may
/// be incompatible.
Error load_error(CUresult result, std::string_view name, const std::string& log) {
  Error error = error_of(result, "cuModuleLoadDataEx", name);
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) error.note(line);
  }
  if (nvrtc_present()) {
    error.note(fmt::format("the driver is of CUDA {}, NVRTC of {}", loaded_driver().library.version,
                           nvrtc_library().version));
  }
  return error;
}

}  // namespace

Module::Module(const DevicePtr& device, const std::string& image, std::string_view name)
    : name_(name) {
  device->make_current();
  std::array<char, kLogBytes> log{};
  std::array names{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // For numeric options the driver reads the value from the pointer itself.
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(kLogBytes - 1)};
  CUmodule module = nullptr;
  const CUresult result = driver().cuModuleLoadDataEx(
      &module, image.c_str(), unsigned(names.size()), names.data(), values.data());
  if (result != CUDA_SUCCESS) throw load_error(result, name_, log.data());
  module_ = Owned<CUmodule>(device, module, driver().cuModuleUnload);
}

Kernel Module::kernel(const std::string& name) const {
  CUfunction function = nullptr;
  if (const CUresult error = driver().cuModuleGetFunction(&function, module_.get(), name.c_str())) {
    check(error, "cuModuleGetFunction", fmt::format("{} of {}", name, name_));
  }
  return Kernel(function, name);
}

void Kernel::allow_dynamic_shared(size_t bytes) const {
  set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(bytes),
      in_bytes(bytes) + " of dynamic shared memory");
}

void Kernel::allow_large_clusters() const {
  set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, "clusters of more than 8 blocks");
}

void Kernel::set(CUfunction_attribute attribute, int value, std::string_view what) const {
  if (const CUresult error = driver().cuFuncSetAttribute(function_, attribute, value)) {
    check(error, "cuFuncSetAttribute", fmt::format("{} for {}", what, name_));
  }
}

int Kernel::resident_blocks(int threads, size_t dynamic_shared) const {
  int blocks = 0;
  if (const CUresult error = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, function_, threads, dynamic_shared)) {
    check(error, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
          fmt::format("{} with {} threads", name_, threads));
  }
  return blocks;
}

int Kernel::resident_clusters(unsigned blocks, unsigned threads, size_t dynamic_shared) const {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {blocks, 1, 1};
  const CUlaunchConfig config{blocks,  1,          1, threads, 1, 1, unsigned(dynamic_shared),
                              nullptr, &attribute, 1};
  int clusters = 0;
  if (const CUresult error = driver().cuOccupancyMaxActiveClusters(&clusters, function_, &config)) {
    check(error, "cuOccupancyMaxActiveClusters",
          fmt::format("{} in clusters of {} blocks", name_, blocks));
  }
  return clusters;
}

int Kernel::attribute(CUfunction_attribute attribute) const {
  int value = 0;
  if (const CUresult error = driver().cuFuncGetAttribute(&value, attribute, function_)) {
    check(error, "cuFuncGetAttribute", fmt::format("attribute {} of {}", int(attribute), name_));
  }
  return value;
}

}  // namespace graphc::core::cuda
