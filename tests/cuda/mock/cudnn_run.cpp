// SPDX-License-Identifier: Apache-2.0
// What cuDNN's mock does with data: a layer, and its gradients.
#include <cstring>

#include "tests/cuda/mock/cudnn.h"

namespace graphc::core::cuda_mock {
namespace {

/// What the calls on data have in common.
struct Spaces {
  size_t weight_bytes, workspace_bytes;
  void* workspace;
  size_t reserve_bytes;
  void* reserve;
  bool training;
};

cudnnStatus_t check(const RecurrentForm& form, const Spaces& spaces) {
  if (spaces.weight_bytes != form.weights() * sizeof(float))
    return refuse(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "weightSpaceSize");
  if (spaces.workspace == nullptr || spaces.workspace_bytes < kCudnnWorkspaceFloats * sizeof(float))
    return refuse(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "workSpaceSize");
  if (spaces.training &&
      (spaces.reserve == nullptr || spaces.reserve_bytes < form.reserve() * sizeof(float)))
    return refuse(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "reserveSpaceSize");
  return CUDNN_STATUS_SUCCESS;
}

/// What is left in a workspace is not for anybody.
void spoil(void* workspace) {
  std::memset(written_floats(workspace, kCudnnWorkspaceFloats), 0xFF,
              kCudnnWorkspaceFloats * sizeof(float));
}

cudnnStatus_t enqueue(const cudnnContext& handle, LibraryWork work) {
  const int error = library_driver().enqueue(handle.stream, work);
  return error == 0 ? CUDNN_STATUS_SUCCESS
                    : refuse(CUDNN_STATUS_EXECUTION_FAILED, "the stream refused it");
}

const float* maybe_read(const void* begin, size_t count) {
  return begin == nullptr ? nullptr : read_floats(begin, count);
}
float* maybe_written(void* begin, size_t count) {
  return begin == nullptr ? nullptr : written_floats(begin, count);
}

/// The head of a reserve says what was there: words of a float's size.
enum class Left : uint32_t { forward = 0x666f7277, backward = 0x6261636b };

void expect(const float* reserve, size_t word, Left wanted, const char* call) {
  uint32_t found = 0;
  std::memcpy(&found, reserve + word, sizeof found);
  if (found != uint32_t(wanted))
    throw Error(ErrorKind::internal, {}, fmt::format("{} finds no such reserve", call));
}
void leave(float* reserve, size_t word, Left left) {
  std::memcpy(reserve + word, &left, sizeof left);
}

}  // namespace

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnRNNForward(
    cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t mode, const int32_t*,
    cudnnRNNDataDescriptor_t x_form, const void* x, cudnnRNNDataDescriptor_t, void* y,
    cudnnTensorDescriptor_t, const void* h, void* last_h, cudnnTensorDescriptor_t, const void* c,
    void* last_c, size_t weight_bytes, const void* weights, size_t workspace_bytes, void* workspace,
    size_t reserve_bytes, void* reserve) {
  return called("cudnnRNNForward", [&] {
    if (const cudnnStatus_t refusal = check(handle, rnn, x_form)) return refusal;
    const RecurrentForm form = form_of(*rnn, *x_form);
    const bool training = mode == CUDNN_FWD_MODE_TRAINING;
    if (const cudnnStatus_t refusal = check(
            form, {weight_bytes, workspace_bytes, workspace, reserve_bytes, reserve, training}))
      return refusal;
    if (x == nullptr || y == nullptr || weights == nullptr)
      return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "x, y or weightSpace");
    return enqueue(*handle, library_work([=] {
      const size_t rows = form.steps * form.batch, state = form.batch * form.units;
      spoil(workspace);
      RecurrentData data{read_floats(x, rows * form.inputs),
                         maybe_read(h, state),
                         maybe_read(c, state),
                         read_floats(weights, form.weights()),
                         written_floats(y, rows * form.units),
                         maybe_written(last_h, state),
                         maybe_written(last_c, state),
                         nullptr};
      if (training) {
        data.reserve = written_floats(reserve, form.reserve());
        leave(data.reserve, 0, Left::forward);
        leave(data.reserve, 1, Left::forward);
      }
      recurrent_forward(form, data);
    }));
  });
}

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnRNNBackwardData_v8(
    cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, const int32_t*, cudnnRNNDataDescriptor_t,
    const void* y, const void* dy, cudnnRNNDataDescriptor_t x_form, void* dx,
    cudnnTensorDescriptor_t, const void* h, const void* last_dh, void* dh, cudnnTensorDescriptor_t,
    const void* c, const void* last_dc, void* dc, size_t weight_bytes, const void* weights,
    size_t workspace_bytes, void* workspace, size_t reserve_bytes, void* reserve) {
  return called("cudnnRNNBackwardData_v8", [&] {
    if (const cudnnStatus_t refusal = check(handle, rnn, x_form)) return refusal;
    const RecurrentForm form = form_of(*rnn, *x_form);
    if (const cudnnStatus_t refusal =
            check(form, {weight_bytes, workspace_bytes, workspace, reserve_bytes, reserve, true}))
      return refusal;
    if (y == nullptr || dy == nullptr || dx == nullptr || weights == nullptr)
      return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "y, dy, dx or weightSpace");
    return enqueue(*handle, library_work([=] {
      const size_t rows = form.steps * form.batch, state = form.batch * form.units;
      spoil(workspace);
      expect(read_floats(reserve, form.reserve()), 0, Left::forward, "cudnnRNNBackwardData_v8");
      float* const kept = written_floats(reserve, form.reserve());
      const RecurrentCotangents data{read_floats(y, rows * form.units),
                                     read_floats(dy, rows * form.units),
                                     maybe_read(h, state),
                                     maybe_read(c, state),
                                     read_floats(weights, form.weights()),
                                     maybe_read(last_dh, state),
                                     maybe_read(last_dc, state),
                                     written_floats(dx, rows * form.inputs),
                                     maybe_written(dh, state),
                                     maybe_written(dc, state),
                                     kept};
      recurrent_backward_data(form, data);
      leave(kept, 1, Left::backward);
    }));
  });
}

GRAPHC_MOCK_EXPORT cudnnStatus_t cudnnRNNBackwardWeights_v8(
    cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnWgradMode_t mode, const int32_t*,
    cudnnRNNDataDescriptor_t x_form, const void* x, cudnnTensorDescriptor_t, const void* h,
    cudnnRNNDataDescriptor_t, const void* y, size_t weight_bytes, void* dweights,
    size_t workspace_bytes, void* workspace, size_t reserve_bytes, void* reserve) {
  return called("cudnnRNNBackwardWeights_v8", [&] {
    if (const cudnnStatus_t refusal = check(handle, rnn, x_form)) return refusal;
    const RecurrentForm form = form_of(*rnn, *x_form);
    if (mode != CUDNN_WGRAD_MODE_ADD)
      return refuse(CUDNN_STATUS_NOT_SUPPORTED, "CUDNN_WGRAD_MODE_SET");
    if (const cudnnStatus_t refusal =
            check(form, {weight_bytes, workspace_bytes, workspace, reserve_bytes, reserve, true}))
      return refusal;
    if (x == nullptr || y == nullptr || dweights == nullptr)
      return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "x, y or dweightSpace");
    return enqueue(*handle, library_work([=] {
      const size_t rows = form.steps * form.batch;
      spoil(workspace);
      const float* const kept = read_floats(reserve, form.reserve());
      expect(kept, 1, Left::backward, "cudnnRNNBackwardWeights_v8");
      read_floats(dweights, form.weights());
      recurrent_backward_weights(
          form, read_floats(x, rows * form.inputs), maybe_read(h, form.batch * form.units),
          read_floats(y, rows * form.units), kept, written_floats(dweights, form.weights()));
    }));
  });
}

}  // namespace graphc::core::cuda_mock
