// SPDX-License-Identifier: Apache-2.0
// The objects of the mock of cuDNN, and what its functions have in common.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/mock/libraries.h"
#include "tests/cuda/mock/recurrent.h"

// cuDNN's descriptors, whose names its header has outside of any namespace.
namespace graphc::core::cuda {

struct cudnnContext {
  CUstream stream = nullptr;
};
struct cudnnTensorStruct {
  std::vector<int> extents, strides;
};
struct cudnnDropoutStruct {
  bool is_set = false;
};
struct cudnnRNNDataStruct {
  int steps = 0, batch = 0, width = 0;
};
struct cudnnRNNStruct {
  bool is_set = false;
  cudnnRNNAlgo_t algorithm{};
  cudnnRNNMode_t cell{};
  cudnnMathType_t math{};
  int inputs = 0, units = 0;
  int built_for = 0;  ///< rows that cudnnBuildRNNDynamic() was told
};

}  // namespace graphc::core::cuda

namespace graphc::core::cuda_mock {
using namespace graphc::core::cuda;

constexpr size_t kCudnnWorkspaceFloats = 64;

inline std::string& last_error() {
  thread_local std::string text;
  return text;
}

inline cudnnStatus_t refuse(cudnnStatus_t status, std::string why) {
  last_error() = std::move(why);
  return status;
}

/// One call: counted, made to fail if a test asked for that.
template <typename Body>
cudnnStatus_t called(const char* symbol, Body&& body) {
  last_error().clear();
  if (const int asked = library_driver().call(symbol)) return cudnnStatus_t(asked);
  return body();
}

template <typename Object>
cudnnStatus_t create(const char* symbol, const char* kind, Object** object) {
  return called(symbol, [&] {
    *object = std::make_unique<Object>().release();
    library_driver().objects(kind, 1);
    return CUDNN_STATUS_SUCCESS;
  });
}

/// What destroys does so before it fails.
template <typename Object>
cudnnStatus_t destroy(const char* symbol, const char* kind, Object* object) {
  if (object != nullptr) library_driver().objects(kind, -1);
  const std::unique_ptr<Object> owned(object);
  return called(symbol, [] { return CUDNN_STATUS_SUCCESS; });
}

inline RecurrentForm form_of(const cudnnRNNStruct& layer, const cudnnRNNDataStruct& x) {
  return {layer.cell, size_t(x.steps), size_t(x.batch), size_t(layer.inputs), size_t(layer.units)};
}

/// Why the layer cannot be run on such sequences, as a status; what a call has looked at before.
inline cudnnStatus_t check(const cudnnContext* handle, const cudnnRNNStruct* layer,
                           const cudnnRNNDataStruct* x) {
  if (handle == nullptr || layer == nullptr || x == nullptr)
    return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a null handle or descriptor");
  if (!layer->is_set || x->width != layer->inputs)
    return refuse(CUDNN_STATUS_BAD_PARAM, "a layer that is not set, or sequences of other inputs");
  const int units = layer->units;
  switch (layer->algorithm) {
    case CUDNN_RNN_ALGO_STANDARD:
      break;
    case CUDNN_RNN_ALGO_PERSIST_STATIC:
      if (units > 1024 || units % 8 != 0)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "hiddenSize > 1024 || hiddenSize % 8 != 0");
      break;
    case CUDNN_RNN_ALGO_PERSIST_DYNAMIC:
      if (layer->built_for != x->batch)
        return refuse(CUDNN_STATUS_BAD_PARAM, "cudnnBuildRNNDynamic() was for another batch");
      break;
    case CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H:
      if (units > 192) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "hiddenSize > 192");
      break;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace graphc::core::cuda_mock
