// SPDX-License-Identifier: Apache-2.0
// The mock driver: starting it, its one device, the primary context, errors in words.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tests/cuda/mock/error_codes.h"
#include "tests/cuda/mock/state.h"

namespace graphc::core::cuda_mock {
namespace {

constexpr std::string_view kName = "graphc's emulator of an sm_90";

/// Read at every call, since a test may change the clock.
std::vector<std::pair<CUdevice_attribute, int>> attributes() {
  return {
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kMostThreads},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, int(kStaticShared)},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, kWarp},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, int(setting("GRAPHC_MOCK_CLOCK", 1980000))},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, multiprocessors()},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, kThreadsOfMultiprocessor},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, capability() / 10},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, capability() % 10},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, int(kSharedOfMultiprocessor)},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, int(most_shared())},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, kBlocksOfMultiprocessor},
      {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, capability() >= 90 ? 1 : 0},
  };
}

CUresult check_device(CUdevice device) {
  return device >= 0 && device < devices() ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_DEVICE, "");
}

/// The primary context of a device: an address in the state.
CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(reinterpret_cast<char*>(&state()) + device);
}
/// The device of a context; -1 for what is none. A test that asked for several devices may be over
/// when theirs are used last.
int device_of(CUcontext context) {
  const auto at = reinterpret_cast<char*>(context) - reinterpret_cast<char*>(&state());
  return at >= 0 && at < kMostDevices ? int(at) : -1;
}

}  // namespace

GRAPHC_MOCK_EXPORT CUresult cuInit(unsigned flags) {
  return called("cuInit", Needs::nothing, [&](State& all) {
    if (flags != 0) return fail(CUDA_ERROR_INVALID_VALUE, "flags other than 0");
    all.initialised = true;
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuDriverGetVersion(int* version) {
  return called("cuDriverGetVersion", Needs::nothing, [&](State&) {
    if (version == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no place for the version");
    *version = 13000;
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorCode* words = find_code(kDriverCodes, error);
  *name = words == nullptr ? nullptr : words->name;
  return words == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/// The driver's words, and after them what the mock knows of this thread's last failure.
GRAPHC_MOCK_EXPORT CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  {
    const std::lock_guard lock(state().mutex);
    if (const CUresult asked = count_call(state(), "cuGetErrorString")) return asked;
  }
  const ErrorCode* words = find_code(kDriverCodes, error);
  *text = words == nullptr ? nullptr : words->words;
  if (words == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::string& detail = last_detail(error);
  if (detail.empty()) return CUDA_SUCCESS;
  thread_local std::string kept;
  kept = fmt::format("{}: {}", words->words, detail);
  *text = kept.c_str();
  return CUDA_SUCCESS;
}

GRAPHC_MOCK_EXPORT CUresult cuDeviceGetCount(int* count) {
  return called("cuDeviceGetCount", Needs::initialised, [&](State&) {
    if (count == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no place for the count");
    *count = devices();
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return called("cuDeviceGet", Needs::initialised, [&](State&) {
    if (device == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no place for the device");
    *device = ordinal;
    return check_device(ordinal);
  });
}

GRAPHC_MOCK_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return called("cuDeviceGetName", Needs::initialised, [&](State&) {
    if (name == nullptr || length <= 0) return fail(CUDA_ERROR_INVALID_VALUE, "no place");
    const size_t bytes = std::min(kName.size(), size_t(length) - 1);
    std::memcpy(name, kName.data(), bytes);
    name[bytes] = '\0';
    return check_device(device);
  });
}

GRAPHC_MOCK_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                                 CUdevice device) {
  return called("cuDeviceGetAttribute", Needs::initialised, [&](State&) {
    const auto table = attributes();
    const auto found =
        std::ranges::find_if(table, [&](auto& row) { return row.first == attribute; });
    if (value == nullptr || found == table.end()) {
      return fail(CUDA_ERROR_INVALID_VALUE, "an attribute that the mock does not know");
    }
    *value = found->second;
    return check_device(device);
  });
}

GRAPHC_MOCK_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return called("cuDeviceTotalMem_v2", Needs::initialised, [&](State&) {
    if (bytes == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no place for the bytes");
    *bytes = memory_bytes();
    return check_device(device);
  });
}

GRAPHC_MOCK_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* to, CUdevice device) {
  return called("cuDevicePrimaryCtxRetain", Needs::initialised, [&](State& all) {
    if (to == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no place for the context");
    if (const CUresult error = check_device(device)) return error;
    ++all.retained;
    *to = context_of(device);
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return called(
      "cuDevicePrimaryCtxRelease_v2", Needs::initialised,
      [&](State& all) {
        if (device_of(context_of(device)) < 0) return fail(CUDA_ERROR_INVALID_DEVICE, "");
        if (all.retained == 0) return fail(CUDA_ERROR_INVALID_CONTEXT, "released too often");
        --all.retained;
        return CUDA_SUCCESS;
      },
      Fails::after);
}

GRAPHC_MOCK_EXPORT CUresult cuCtxSetCurrent(CUcontext given) {
  return called("cuCtxSetCurrent", Needs::initialised, [&](State& all) {
    if (given != nullptr && (device_of(given) < 0 || all.retained == 0)) {
      return fail(CUDA_ERROR_INVALID_CONTEXT, "no such context");
    }
    current_device() = given == nullptr ? -1 : device_of(given);
    return CUDA_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT CUresult cuCtxGetCurrent(CUcontext* to) {
  return called("cuCtxGetCurrent", Needs::initialised, [&](State&) {
    if (to == nullptr) return fail(CUDA_ERROR_INVALID_VALUE, "no place for the context");
    *to = has_context() ? context_of(current_device()) : nullptr;
    return CUDA_SUCCESS;
  });
}

}  // namespace graphc::core::cuda_mock
