// SPDX-License-Identifier: Apache-2.0
// A mock of cuDNN's recurrent layers: handles, descriptors and sizes. What it refuses is what the
// documentation and the library's own messages say that it refuses; the persistent algorithms have
// a few of their limits.
#include "tests/cuda/mock/cudnn.h"

#include <algorithm>
#include <cstring>

#include "tests/cuda/mock/error_codes.h"

namespace graphc::core::cuda_mock {

GRAPHC_MOCK_EXPORT size_t cudnnGetVersion() { return 91900; }
GRAPHC_MOCK_EXPORT const char* cudnnGetErrorString(cudnnStatus_t status) {
  return words_of(kCudnnCodes, status, "CUDNN_STATUS_OF_THE_MOCK");
}
GRAPHC_MOCK_EXPORT void cudnnGetLastErrorString(char* text, size_t bytes) {
  std::strncpy(text, last_error().c_str(), bytes);
}

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (library_driver().has_context() == 0)
    return refuse(CUDNN_STATUS_NOT_INITIALIZED, "no context is current");
  return create("cudnnCreate", "cudnn handle", handle);
}
GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return destroy("cudnnDestroy", "cudnn handle", handle);
}
GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, CUstream stream) {
  return called("cudnnSetStream", [&] {
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
  });
}

#define GRAPHC_MOCK_DESCRIPTOR(name, handle, kind)                     \
  GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnCreate##name(handle* object) { \
    return create("cudnnCreate" #name, kind, object);                  \
  }                                                                    \
  GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnDestroy##name(handle object) { \
    return destroy("cudnnDestroy" #name, kind, object);                \
  }
GRAPHC_MOCK_DESCRIPTOR(TensorDescriptor, cudnnTensorDescriptor_t, "tensor descriptor")
GRAPHC_MOCK_DESCRIPTOR(DropoutDescriptor, cudnnDropoutDescriptor_t, "dropout descriptor")
GRAPHC_MOCK_DESCRIPTOR(RNNDescriptor, cudnnRNNDescriptor_t, "layer descriptor")
GRAPHC_MOCK_DESCRIPTOR(RNNDataDescriptor, cudnnRNNDataDescriptor_t, "sequence descriptor")

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor,
                                                            cudnnDataType_t type, int rank,
                                                            const int* extents,
                                                            const int* strides) {
  return called("cudnnSetTensorNdDescriptor", [&] {
    if (type != CUDNN_DATA_FLOAT || rank < 3 || rank > 8)
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, "nbDims < 3 || nbDims > CUDNN_DIM_MAX");
    tensor->extents.assign(extents, extents + rank);
    tensor->strides.assign(strides, strides + rank);
    return CUDNN_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnGetTensorNdDescriptor(cudnnTensorDescriptor_t tensor,
                                                            int most, cudnnDataType_t* type,
                                                            int* rank, int* extents, int* strides) {
  return called("cudnnGetTensorNdDescriptor", [&] {
    *type = CUDNN_DATA_FLOAT;
    *rank = int(tensor->extents.size());
    for (int i = 0; i < std::min(most, *rank); ++i) {
      extents[i] = tensor->extents[size_t(i)];
      strides[i] = tensor->strides[size_t(i)];
    }
    return CUDNN_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropout,
                                                           cudnnHandle_t, float rate, void* states,
                                                           size_t bytes, unsigned long long) {
  return called("cudnnSetDropoutDescriptor", [&] {
    if (rate != 0 || states != nullptr || bytes != 0)
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the mock has no dropout");
    dropout->is_set = true;
    return CUDNN_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cudnnStatus_t
cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algorithm, cudnnRNNMode_t cell,
                         cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                         cudnnRNNInputMode_t input, cudnnDataType_t type, cudnnDataType_t precision,
                         cudnnMathType_t math, int32_t inputs, int32_t units, int32_t projection,
                         int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  return called("cudnnSetRNNDescriptor_v8", [&] {
    if (dropout == nullptr || !dropout->is_set)
      return refuse(CUDNN_STATUS_BAD_PARAM, "dropoutDesc is not initialised");
    if (inputs < 1 || units < 1 || layers < 1 || projection != units || algorithm < 0 ||
        algorithm > CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H || math < 0 || math > CUDNN_FMA_MATH)
      return refuse(CUDNN_STATUS_BAD_PARAM, "a size or an enumeration out of bounds");
    if (bias != CUDNN_RNN_DOUBLE_BIAS || direction != CUDNN_UNIDIRECTIONAL ||
        input != CUDNN_LINEAR_INPUT || type != CUDNN_DATA_FLOAT || precision != CUDNN_DATA_FLOAT ||
        layers != 1 || flags != kCudnnPaddedIoDisabled)
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the mock has no such layer");
    *rnn = {true, algorithm, cell, math, inputs, units, 0};
    return CUDNN_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t, cudnnRNNDescriptor_t rnn,
                                                      int batch) {
  return called("cudnnBuildRNNDynamic", [&] {
    if (rnn->algorithm != CUDNN_RNN_ALGO_PERSIST_DYNAMIC || batch < 1)
      return refuse(CUDNN_STATUS_BAD_PARAM, "not CUDNN_RNN_ALGO_PERSIST_DYNAMIC");
    if (rnn->units % 32 != 0) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "hiddenSize % 32 != 0");
    rnn->built_for = batch;
    return CUDNN_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data,
                                                           cudnnDataType_t type,
                                                           cudnnRNNDataLayout_t layout, int steps,
                                                           int batch, int width, const int* lengths,
                                                           void*) {
  return called("cudnnSetRNNDataDescriptor", [&] {
    if (type != CUDNN_DATA_FLOAT || layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED ||
        steps < 1 || batch < 1 || width < 1)
      return refuse(CUDNN_STATUS_BAD_PARAM, "a type, layout or size");
    for (int row = 0; row < batch; ++row) {
      if (lengths[row] != steps)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the mock has sequences of one length");
    }
    *data = {steps, batch, width};
    return CUDNN_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle,
                                                            cudnnRNNDescriptor_t rnn,
                                                            size_t* bytes) {
  return called("cudnnGetRNNWeightSpaceSize", [&] {
    if (handle == nullptr || !rnn->is_set)
      return refuse(CUDNN_STATUS_BAD_PARAM, "no handle, or a layer that is not set");
    *bytes = form_of(*rnn, {}).weights() * sizeof(float);
    return CUDNN_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle,
                                                           cudnnRNNDescriptor_t rnn,
                                                           cudnnForwardMode_t mode,
                                                           cudnnRNNDataDescriptor_t x,
                                                           size_t* workspace, size_t* reserve) {
  return called("cudnnGetRNNTempSpaceSizes", [&] {
    if (const cudnnStatus_t refusal = check(handle, rnn, x)) return refusal;
    *workspace = kCudnnWorkspaceFloats * sizeof(float);
    *reserve = mode == CUDNN_FWD_MODE_TRAINING ? form_of(*rnn, *x).reserve() * sizeof(float) : 0;
    return CUDNN_STATUS_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT cudnnStatus_t
cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t rnn, int32_t layer, size_t bytes,
                        const void* weights, int32_t linear, cudnnTensorDescriptor_t matrix_form,
                        void** matrix, cudnnTensorDescriptor_t bias_form, void** bias) {
  return called("cudnnGetRNNWeightParams", [&] {
    const RecurrentForm form = form_of(*rnn, {});
    const size_t index = size_t(linear);
    if (layer != 0 || linear < 0 || index >= 2 * form.gates() ||
        bytes != form.weights() * sizeof(float))
      return refuse(CUDNN_STATUS_BAD_PARAM, "linLayerID, pseudoLayer or weightSpaceSize");
    const int units = rnn->units, width = index < form.gates() ? rnn->inputs : units;
    matrix_form->extents = {1, units, width};
    matrix_form->strides = {units * width, width, 1};
    bias_form->extents = {1, units, 1};
    bias_form->strides = {units, 1, 1};
    float* const begin = static_cast<float*>(const_cast<void*>(weights));
    *matrix = begin + form.matrix(index);
    *bias = begin + form.bias(index);
    return CUDNN_STATUS_SUCCESS;
  });
}

}  // namespace graphc::core::cuda_mock
