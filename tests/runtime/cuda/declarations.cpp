// SPDX-License-Identifier: Apache-2.0
// Compiles only if what runtime/cuda declares is what the toolkit's own headers say; built where
// these are there. Their macros rename the functions to the versions meant, so that they come
// first.
#include <cuda.h>
#include <nvrtc.h>

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc_functions.h"

namespace graphc::cuda {
namespace {

/// Whether two types are passed alike: pointers of equal depth, numbers of equal size.
template <typename Ours, typename Theirs>
constexpr bool alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using OurTarget = std::remove_pointer_t<Ours>;
    using TheirTarget = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_pointer_v<OurTarget> || std::is_arithmetic_v<OurTarget>) {
      return std::is_const_v<OurTarget> == std::is_const_v<TheirTarget> &&
             alike<std::remove_const_t<OurTarget>, std::remove_const_t<TheirTarget>>();
    } else {
      return true;  // of their own types; both may be incomplete
    }
  } else {
    return !std::is_pointer_v<Ours> && !std::is_pointer_v<Theirs> &&
           sizeof(Ours) == sizeof(Theirs) &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
  }
}

template <typename Ours, typename Theirs>
struct Same : std::false_type {};
template <typename A, typename... As, typename B, typename... Bs>
  requires(sizeof...(As) == sizeof...(Bs))
struct Same<A (*)(As...), B (*)(Bs...)>
    : std::bool_constant<alike<A, B>() && (alike<As, Bs>() && ...)> {};

static_assert(Same<int (*)(int*, const char*), unsigned (*)(unsigned*, const char*)>::value);
static_assert(!Same<int (*)(int*), int (*)(int)>::value);
static_assert(!Same<int (*)(int*), int (*)(const int*)>::value);
static_assert(!Same<int (*)(int*), int (*)(long*)>::value);
static_assert(!Same<int (*)(float), int (*)(int)>::value);
static_assert(!Same<int (*)(int), int (*)(int, int)>::value);

// The version meant is the one that the header's name leads to, but for an event's time: drivers
// before 12.8 have only the old one.
#define GRAPHC_TEXT(name) std::string_view(#name)
#define GRAPHC_DRIVER_FUNCTION(name, symbol, parameters)                     \
  static_assert(Same<decltype(Driver::name), decltype(&::symbol)>::value);   \
  static_assert(GRAPHC_TEXT(name) == #symbol || std::string_view(#symbol) == \
                                                    "cuEventElapsedTim"      \
                                                    "e");
#include "runtime/cuda/driver.def"
#undef GRAPHC_DRIVER_FUNCTION

#define GRAPHC_NVRTC_FUNCTION(name, parameters) \
  static_assert(Same<decltype(Nvrtc::name), decltype(&::name)>::value);
#include "runtime/cuda/nvrtc.def"
#undef GRAPHC_NVRTC_FUNCTION

#define GRAPHC_SAME(name) static_assert(static_cast<int>(name) == static_cast<int>(::name))
GRAPHC_SAME(CUDA_SUCCESS);
GRAPHC_SAME(CUDA_ERROR_INVALID_VALUE);
GRAPHC_SAME(CUDA_ERROR_OUT_OF_MEMORY);
GRAPHC_SAME(CUDA_ERROR_NOT_INITIALIZED);
GRAPHC_SAME(CUDA_ERROR_DEINITIALIZED);
GRAPHC_SAME(CUDA_ERROR_STUB_LIBRARY);
GRAPHC_SAME(CUDA_ERROR_NO_DEVICE);
GRAPHC_SAME(CUDA_ERROR_INVALID_DEVICE);
GRAPHC_SAME(CUDA_ERROR_INVALID_IMAGE);
GRAPHC_SAME(CUDA_ERROR_INVALID_CONTEXT);
GRAPHC_SAME(CUDA_ERROR_NO_BINARY_FOR_GPU);
GRAPHC_SAME(CUDA_ERROR_INVALID_PTX);
GRAPHC_SAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
GRAPHC_SAME(CUDA_ERROR_INVALID_HANDLE);
GRAPHC_SAME(CUDA_ERROR_ILLEGAL_STATE);
GRAPHC_SAME(CUDA_ERROR_NOT_FOUND);
GRAPHC_SAME(CUDA_ERROR_NOT_READY);
GRAPHC_SAME(CUDA_ERROR_ILLEGAL_ADDRESS);
GRAPHC_SAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
GRAPHC_SAME(CUDA_ERROR_ASSERT);
GRAPHC_SAME(CUDA_ERROR_ILLEGAL_INSTRUCTION);
GRAPHC_SAME(CUDA_ERROR_MISALIGNED_ADDRESS);
GRAPHC_SAME(CUDA_ERROR_INVALID_ADDRESS_SPACE);
GRAPHC_SAME(CUDA_ERROR_INVALID_PC);
GRAPHC_SAME(CUDA_ERROR_LAUNCH_FAILED);
GRAPHC_SAME(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
GRAPHC_SAME(CUDA_ERROR_NOT_SUPPORTED);
GRAPHC_SAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
GRAPHC_SAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
GRAPHC_SAME(CUDA_ERROR_STREAM_CAPTURE_MERGE);
GRAPHC_SAME(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
GRAPHC_SAME(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
GRAPHC_SAME(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
GRAPHC_SAME(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
GRAPHC_SAME(CUDA_ERROR_CAPTURED_EVENT);
GRAPHC_SAME(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
GRAPHC_SAME(CUDA_ERROR_INVALID_CLUSTER_SIZE);
GRAPHC_SAME(CUDA_ERROR_UNKNOWN);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
GRAPHC_SAME(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
GRAPHC_SAME(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
GRAPHC_SAME(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
GRAPHC_SAME(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
GRAPHC_SAME(CU_FUNC_ATTRIBUTE_NUM_REGS);
GRAPHC_SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
GRAPHC_SAME(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
GRAPHC_SAME(CU_JIT_ERROR_LOG_BUFFER);
GRAPHC_SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
GRAPHC_SAME(CU_STREAM_CAPTURE_MODE_GLOBAL);
GRAPHC_SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
GRAPHC_SAME(CU_STREAM_CAPTURE_MODE_RELAXED);
GRAPHC_SAME(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
GRAPHC_SAME(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
GRAPHC_SAME(CU_STREAM_DEFAULT);
GRAPHC_SAME(CU_STREAM_NON_BLOCKING);
GRAPHC_SAME(CU_EVENT_DEFAULT);
GRAPHC_SAME(CU_EVENT_DISABLE_TIMING);
GRAPHC_SAME(NVRTC_SUCCESS);
GRAPHC_SAME(NVRTC_ERROR_OUT_OF_MEMORY);
GRAPHC_SAME(NVRTC_ERROR_INVALID_INPUT);
GRAPHC_SAME(NVRTC_ERROR_INVALID_PROGRAM);
GRAPHC_SAME(NVRTC_ERROR_INVALID_OPTION);
GRAPHC_SAME(NVRTC_ERROR_COMPILATION);
GRAPHC_SAME(NVRTC_ERROR_INTERNAL_ERROR);

static_assert(sizeof(CUdeviceptr) == sizeof(::CUdeviceptr));
static_assert(sizeof(CUlaunchAttributeValue) == sizeof(::CUlaunchAttributeValue));
static_assert(sizeof(CUlaunchAttribute) == sizeof(::CUlaunchAttribute));
static_assert(offsetof(CUlaunchAttribute, value) == offsetof(::CUlaunchAttribute, value));
static_assert(offsetof(CUlaunchAttributeValue, clusterDim.z) ==
              offsetof(::CUlaunchAttributeValue, clusterDim.z));
static_assert(sizeof(CUlaunchConfig) == sizeof(::CUlaunchConfig));
static_assert(offsetof(CUlaunchConfig, sharedMemBytes) ==
              offsetof(::CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(CUlaunchConfig, hStream) == offsetof(::CUlaunchConfig, hStream));
static_assert(offsetof(CUlaunchConfig, attrs) == offsetof(::CUlaunchConfig, attrs));
static_assert(offsetof(CUlaunchConfig, numAttrs) == offsetof(::CUlaunchConfig, numAttrs));

}  // namespace
}  // namespace graphc::cuda
