// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's types and functions, declared here so that a build needs no toolkit. Names and values
// follow the documentation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/driver_types.h"

namespace graphc::core::cuda {

enum cublasStatus_t : int {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};

/// The accumulation type, and the type to which f32 factors may be rounded.
enum cublasComputeType_t : int {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};
enum cudaDataType_t : int { CUDA_R_32F = 0, CUDA_R_16BF = 14 };
enum cublasOperation_t : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasLtMatmulDescAttributes_t : int {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
};
enum cublasLtMatmulPreferenceAttributes_t : int { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 };

/// Opaque bytes, valid in every process with the same version of the library.
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = struct CublasLtMatmulDesc*;
using cublasLtMatrixLayout_t = struct CublasLtMatrixLayout*;
using cublasLtMatmulPreference_t = struct CublasLtMatmulPreference*;

/// cuBLASLt's functions under their names.
struct CublasLt {
#define GRAPHC_CUBLASLT_FUNCTION(name, parameters) cublasStatus_t(*name) parameters = nullptr;
#include "runtime/cuda/cublaslt.def"
#undef GRAPHC_CUBLASLT_FUNCTION
  size_t (*cublasLtGetVersion)() = nullptr;
  const char* (*cublasLtGetStatusString)(cublasStatus_t) = nullptr;
};

}  // namespace graphc::core::cuda
