// SPDX-License-Identifier: Apache-2.0
// The errors that the documentation of CUDA's libraries lists, with the words that they have for
// them and whose fault they are: the mocks say the words, tests let calls return each.
#pragma once

#include <algorithm>
#include <span>

#include "ir/error.h"

namespace graphc::core::cuda_mock {

struct ErrorCode {
  int value = 0;
  const char* name = "";
  const char* words = "";  ///< as its library puts it; names where that has no other words
  /// internal: only a defect of graphc can cause it (a wrong argument, a kernel that goes astray).
  ErrorKind kind = ErrorKind::resource;
  bool memory = false;  ///< there is too little of it
};

inline constexpr ErrorCode kDriverCodes[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument", ErrorKind::internal},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory", ErrorKind::resource, true},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error", ErrorKind::internal},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "device doesn't have valid Grid license"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context", ErrorKind::internal},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed", ErrorKind::internal},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain"},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX JIT compilation was disabled"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle", ErrorKind::internal},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state",
     ErrorKind::internal},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found", ErrorKind::internal},
    {600, "CUDA_ERROR_NOT_READY", "device not ready", ErrorKind::internal},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered",
     ErrorKind::internal},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch",
     ErrorKind::internal},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered", ErrorKind::internal},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error", ErrorKind::internal},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered",
     ErrorKind::internal},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address", ErrorKind::internal},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE",
     "operation not supported on global/shared address space", ErrorKind::internal},
    {718, "CUDA_ERROR_INVALID_PC", "invalid program counter", ErrorKind::internal},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure", ErrorKind::internal},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch",
     ErrorKind::internal},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "forward compatibility was attempted on non supported HW"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED",
     "MPS client failed to connect to the MPS control daemon or the MPS server"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing", ErrorKind::internal},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture", ErrorKind::internal},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences", ErrorKind::internal},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began", ErrorKind::internal},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work",
     ErrorKind::internal},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream", ErrorKind::internal},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream",
     ErrorKind::internal},
    {907, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream",
     ErrorKind::internal},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread",
     ErrorKind::internal},
    {909, "CUDA_ERROR_TIMEOUT", "wait operation timed out"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration", ErrorKind::internal},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

inline constexpr ErrorCode kCudnnCodes[] = {
    {0, "CUDNN_STATUS_SUCCESS", "CUDNN_STATUS_SUCCESS"},
    {1001, "CUDNN_STATUS_NOT_INITIALIZED", "CUDNN_STATUS_NOT_INITIALIZED"},
    {1002, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"},
    {1003, "CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH",
     "CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH"},
    {1004, "CUDNN_STATUS_DEPRECATED", "CUDNN_STATUS_DEPRECATED"},
    {1005, "CUDNN_STATUS_LICENSE_ERROR", "CUDNN_STATUS_LICENSE_ERROR"},
    {1006, "CUDNN_STATUS_RUNTIME_IN_PROGRESS", "CUDNN_STATUS_RUNTIME_IN_PROGRESS"},
    {1007, "CUDNN_STATUS_RUNTIME_FP_OVERFLOW", "CUDNN_STATUS_RUNTIME_FP_OVERFLOW"},
    {1008, "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED", "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"},
    {2000, "CUDNN_STATUS_BAD_PARAM", "CUDNN_STATUS_BAD_PARAM", ErrorKind::internal},
    {2002, "CUDNN_STATUS_BAD_PARAM_NULL_POINTER", "CUDNN_STATUS_BAD_PARAM_NULL_POINTER",
     ErrorKind::internal},
    {2003, "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER", "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER",
     ErrorKind::internal},
    {2004, "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED", "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED",
     ErrorKind::internal},
    {2005, "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND", "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND",
     ErrorKind::internal},
    {2006, "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT", "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT",
     ErrorKind::internal},
    {2007, "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH", "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH",
     ErrorKind::internal},
    {2008, "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH", "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH",
     ErrorKind::internal},
    {2009, "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES", "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES",
     ErrorKind::internal},
    {2010, "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE", "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE",
     ErrorKind::internal},
    {3000, "CUDNN_STATUS_NOT_SUPPORTED", "CUDNN_STATUS_NOT_SUPPORTED"},
    {3001, "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN", "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN"},
    {3002, "CUDNN_STATUS_NOT_SUPPORTED_SHAPE", "CUDNN_STATUS_NOT_SUPPORTED_SHAPE"},
    {3003, "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE", "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE"},
    {3004, "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT", "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT"},
    {3005, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER",
     "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER"},
    {3006, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART",
     "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART"},
    {3007, "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH"},
    {3008, "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING",
     "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING"},
    {3009, "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE",
     "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE"},
    {3010, "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
     "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT"},
    {3011, "CUDNN_STATUS_NOT_SUPPORTED_PADDING", "CUDNN_STATUS_NOT_SUPPORTED_PADDING"},
    {3012, "CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM",
     "CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM"},
    {4000, "CUDNN_STATUS_INTERNAL_ERROR", "CUDNN_STATUS_INTERNAL_ERROR"},
    {4001, "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED",
     "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED"},
    {4002, "CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE",
     "CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE"},
    {4003, "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
     "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", ErrorKind::resource, true},
    {4004, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
     "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", ErrorKind::resource, true},
    {4005, "CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM",
     "CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM"},
    {4006, "CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED",
     "CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED"},
    {5000, "CUDNN_STATUS_EXECUTION_FAILED", "CUDNN_STATUS_EXECUTION_FAILED"},
    {5001, "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER",
     "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER"},
    {5002, "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS", "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS"},
    {5003, "CUDNN_STATUS_EXECUTION_FAILED_CUDART", "CUDNN_STATUS_EXECUTION_FAILED_CUDART"},
    {5004, "CUDNN_STATUS_EXECUTION_FAILED_CURAND", "CUDNN_STATUS_EXECUTION_FAILED_CURAND"},
};

inline constexpr ErrorCode kCublasCodes[] = {
    {0, "CUBLAS_STATUS_SUCCESS", "CUBLAS_STATUS_SUCCESS"},
    {1, "CUBLAS_STATUS_NOT_INITIALIZED", "CUBLAS_STATUS_NOT_INITIALIZED"},
    {3, "CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED", ErrorKind::resource, true},
    {7, "CUBLAS_STATUS_INVALID_VALUE", "CUBLAS_STATUS_INVALID_VALUE", ErrorKind::internal},
    {8, "CUBLAS_STATUS_ARCH_MISMATCH", "CUBLAS_STATUS_ARCH_MISMATCH"},
    {11, "CUBLAS_STATUS_MAPPING_ERROR", "CUBLAS_STATUS_MAPPING_ERROR"},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED", "CUBLAS_STATUS_EXECUTION_FAILED"},
    {14, "CUBLAS_STATUS_INTERNAL_ERROR", "CUBLAS_STATUS_INTERNAL_ERROR"},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED", "CUBLAS_STATUS_NOT_SUPPORTED"},
    {16, "CUBLAS_STATUS_LICENSE_ERROR", "CUBLAS_STATUS_LICENSE_ERROR"},
};

inline constexpr ErrorCode kNcclCodes[] = {
    {0, "ncclSuccess", "no error"},
    {1, "ncclUnhandledCudaError", "unhandled cuda error (run with NCCL_DEBUG=INFO for details)"},
    {2, "ncclSystemError", "unhandled system error (run with NCCL_DEBUG=INFO for details)"},
    {3, "ncclInternalError", "internal error - please report this issue to the NCCL developers"},
    {4, "ncclInvalidArgument", "invalid argument (run with NCCL_DEBUG=WARN for details)",
     ErrorKind::internal},
    {5, "ncclInvalidUsage", "invalid usage (run with NCCL_DEBUG=WARN for details)"},
    {6, "ncclRemoteError", "remote process exited or there was a network error"},
};

inline constexpr ErrorCode kNvrtcCodes[] = {
    {0, "NVRTC_SUCCESS", "NVRTC_SUCCESS"},
    {1, "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_OUT_OF_MEMORY", ErrorKind::resource, true},
    {2, "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
     ErrorKind::internal},
    {3, "NVRTC_ERROR_INVALID_INPUT", "NVRTC_ERROR_INVALID_INPUT", ErrorKind::internal},
    {4, "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_PROGRAM", ErrorKind::internal},
    {5, "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_INVALID_OPTION", ErrorKind::internal},
    {6, "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_COMPILATION", ErrorKind::internal},
    {7, "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE", "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"},
    {8, "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
     "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", ErrorKind::internal},
    {9, "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
     "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", ErrorKind::internal},
    {10, "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
     ErrorKind::internal},
    {11, "NVRTC_ERROR_INTERNAL_ERROR", "NVRTC_ERROR_INTERNAL_ERROR", ErrorKind::internal},
    {12, "NVRTC_ERROR_TIME_FILE_WRITE_FAILED", "NVRTC_ERROR_TIME_FILE_WRITE_FAILED",
     ErrorKind::internal},
};

inline const ErrorCode* find_code(std::span<const ErrorCode> codes, int value) {
  const auto found = std::ranges::find(codes, value, &ErrorCode::value);
  return found == codes.end() ? nullptr : &*found;
}

/// The words for a value; for one that is not listed, `otherwise`.
inline const char* words_of(std::span<const ErrorCode> codes, int value, const char* otherwise) {
  const ErrorCode* found = find_code(codes, value);
  return found == nullptr ? otherwise : found->words;
}

}  // namespace graphc::core::cuda_mock
