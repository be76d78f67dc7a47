// SPDX-License-Identifier: Apache-2.0
// Compiles only if what runtime/cuda declares of cuDNN and cuBLASLt is what their own headers say;
// built where these are there.
#include <cublasLt.h>
#include <cudnn.h>

#include <cstddef>

#include "runtime/cuda/cublaslt_functions.h"
#include "runtime/cuda/cudnn_functions.h"
#include "tests/runtime/cuda/declared_alike.h"

namespace graphc::core::cuda {
namespace {

#define GRAPHC_CUDNN_FUNCTION(name, parameters) \
  static_assert(Same<decltype(Cudnn::name), decltype(&::name)>::value);
#include "runtime/cuda/cudnn.def"
#undef GRAPHC_CUDNN_FUNCTION
static_assert(Same<decltype(Cudnn::cudnnGetErrorString), decltype(&::cudnnGetErrorString)>::value);

#define GRAPHC_CUBLASLT_FUNCTION(name, parameters) \
  static_assert(Same<decltype(CublasLt::name), decltype(&::name)>::value);
#include "runtime/cuda/cublaslt.def"
#undef GRAPHC_CUBLASLT_FUNCTION

#define GRAPHC_SAME(name) static_assert(static_cast<int>(name) == static_cast<int>(::name))
GRAPHC_SAME(CUDNN_STATUS_SUCCESS);
GRAPHC_SAME(CUDNN_STATUS_NOT_INITIALIZED);
GRAPHC_SAME(CUDNN_STATUS_BAD_PARAM);
GRAPHC_SAME(CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
GRAPHC_SAME(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
GRAPHC_SAME(CUDNN_STATUS_NOT_SUPPORTED);
GRAPHC_SAME(CUDNN_STATUS_INTERNAL_ERROR);
GRAPHC_SAME(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
GRAPHC_SAME(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
GRAPHC_SAME(CUDNN_STATUS_EXECUTION_FAILED);
GRAPHC_SAME(CUDNN_DATA_FLOAT);
GRAPHC_SAME(CUDNN_DEFAULT_MATH);
GRAPHC_SAME(CUDNN_TENSOR_OP_MATH);
GRAPHC_SAME(CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION);
GRAPHC_SAME(CUDNN_FMA_MATH);
GRAPHC_SAME(CUDNN_RNN_ALGO_STANDARD);
GRAPHC_SAME(CUDNN_RNN_ALGO_PERSIST_STATIC);
GRAPHC_SAME(CUDNN_RNN_ALGO_PERSIST_DYNAMIC);
GRAPHC_SAME(CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H);
GRAPHC_SAME(CUDNN_FWD_MODE_INFERENCE);
GRAPHC_SAME(CUDNN_FWD_MODE_TRAINING);
GRAPHC_SAME(CUDNN_RNN_TANH);
GRAPHC_SAME(CUDNN_LSTM);
GRAPHC_SAME(CUDNN_GRU);
GRAPHC_SAME(CUDNN_RNN_DOUBLE_BIAS);
GRAPHC_SAME(CUDNN_UNIDIRECTIONAL);
GRAPHC_SAME(CUDNN_LINEAR_INPUT);
GRAPHC_SAME(CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED);
GRAPHC_SAME(CUDNN_WGRAD_MODE_ADD);
GRAPHC_SAME(CUBLAS_STATUS_SUCCESS);
GRAPHC_SAME(CUBLAS_STATUS_NOT_INITIALIZED);
GRAPHC_SAME(CUBLAS_STATUS_ALLOC_FAILED);
GRAPHC_SAME(CUBLAS_STATUS_INVALID_VALUE);
GRAPHC_SAME(CUBLAS_STATUS_ARCH_MISMATCH);
GRAPHC_SAME(CUBLAS_STATUS_EXECUTION_FAILED);
GRAPHC_SAME(CUBLAS_STATUS_INTERNAL_ERROR);
GRAPHC_SAME(CUBLAS_STATUS_NOT_SUPPORTED);
GRAPHC_SAME(CUBLAS_COMPUTE_32F);
GRAPHC_SAME(CUBLAS_COMPUTE_32F_FAST_16F);
GRAPHC_SAME(CUBLAS_COMPUTE_32F_FAST_16BF);
GRAPHC_SAME(CUBLAS_COMPUTE_32F_FAST_TF32);
GRAPHC_SAME(CUDA_R_32F);
GRAPHC_SAME(CUDA_R_16BF);
GRAPHC_SAME(CUBLAS_OP_N);
GRAPHC_SAME(CUBLAS_OP_T);
GRAPHC_SAME(CUBLASLT_MATMUL_DESC_TRANSA);
GRAPHC_SAME(CUBLASLT_MATMUL_DESC_TRANSB);
GRAPHC_SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
#undef GRAPHC_SAME
// A macro there.
static_assert(kCudnnPaddedIoDisabled == CUDNN_RNN_PADDED_IO_DISABLED);

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(::cublasLtMatmulAlgo_t));
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == sizeof(::cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) ==
              offsetof(::cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, state) ==
              offsetof(::cublasLtMatmulHeuristicResult_t, state));

}  // namespace
}  // namespace graphc::core::cuda
