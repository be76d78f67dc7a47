// SPDX-License-Identifier: Apache-2.0
// The types and functions of cuDNN needed for recurrent layers, declared here so that a build needs
// no toolkit. Names and values follow the documentation of version 9.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/driver_types.h"

namespace graphc::core::cuda {

/// The thousands digit is the kind of error: 1 the library's state, 2 an argument, 3 not supported,
/// 4 internal, 5 at run time.
enum cudnnStatus_t : int {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_NOT_INITIALIZED = 1001,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_BAD_PARAM_NULL_POINTER = 2002,
  CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT = 2006,
  CUDNN_STATUS_NOT_SUPPORTED = 3000,
  CUDNN_STATUS_INTERNAL_ERROR = 4000,
  CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED = 4003,
  CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004,
  CUDNN_STATUS_EXECUTION_FAILED = 5000,
};

enum cudnnDataType_t : int { CUDNN_DATA_FLOAT = 0 };
enum cudnnMathType_t : int {
  CUDNN_DEFAULT_MATH = 0,
  CUDNN_TENSOR_OP_MATH = 1,
  CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION = 2,
  CUDNN_FMA_MATH = 3,
};
enum cudnnRNNAlgo_t : int {
  CUDNN_RNN_ALGO_STANDARD = 0,
  CUDNN_RNN_ALGO_PERSIST_STATIC = 1,
  CUDNN_RNN_ALGO_PERSIST_DYNAMIC = 2,
  CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H = 3,
};
enum cudnnForwardMode_t : int { CUDNN_FWD_MODE_INFERENCE = 0, CUDNN_FWD_MODE_TRAINING = 1 };
enum cudnnRNNMode_t : int { CUDNN_RNN_TANH = 1, CUDNN_LSTM = 2, CUDNN_GRU = 3 };
enum cudnnRNNBiasMode_t : int { CUDNN_RNN_DOUBLE_BIAS = 2 };
enum cudnnDirectionMode_t : int { CUDNN_UNIDIRECTIONAL = 0 };
enum cudnnRNNInputMode_t : int { CUDNN_LINEAR_INPUT = 0 };
enum cudnnRNNDataLayout_t : int { CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED = 0 };
enum cudnnWgradMode_t : int { CUDNN_WGRAD_MODE_ADD = 0 };
/// CUDNN_RNN_PADDED_IO_DISABLED, a macro in cuDNN.
inline constexpr uint32_t kCudnnPaddedIoDisabled = 0;

using cudnnHandle_t = struct cudnnContext*;
using cudnnRNNDescriptor_t = struct cudnnRNNStruct*;
using cudnnRNNDataDescriptor_t = struct cudnnRNNDataStruct*;
using cudnnTensorDescriptor_t = struct cudnnTensorStruct*;
using cudnnDropoutDescriptor_t = struct cudnnDropoutStruct*;

/// cuDNN's functions under their names.
struct Cudnn {
#define GRAPHC_CUDNN_FUNCTION(name, parameters) cudnnStatus_t(*name) parameters = nullptr;
#include "runtime/cuda/cudnn.def"
#undef GRAPHC_CUDNN_FUNCTION
  size_t (*cudnnGetVersion)() = nullptr;
  const char* (*cudnnGetErrorString)(cudnnStatus_t) = nullptr;
  void (*cudnnGetLastErrorString)(char*, size_t) = nullptr;
};

}  // namespace graphc::core::cuda
