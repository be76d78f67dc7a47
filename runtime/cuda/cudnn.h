// SPDX-License-Identifier: Apache-2.0
// cuDNN's recurrent layers. The library is opened on first use.
//
// cuDNN uses the device's primary context, as graphc does. A thread calls Device::make_current()
// before using anything here.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/cudnn_functions.h"
#include "runtime/cuda/libraries.h"
#include "runtime/cuda/library_object.h"
#include "runtime/cuda/stream.h"

namespace graphc::core::cuda {

/// Whether cuDNN is usable. If not, `why_not`, unless null, gets the reason.
bool cudnn_present(std::string* why_not = nullptr);
/// The result of searching for cuDNN in places_of_environment(), once per process.
const FoundLibrary& cudnn_library();

template <typename Handle>
using CudnnObject = LibraryObject<Handle, cudnnStatus_t>;

/// A cuDNN handle for a device; its work goes to one stream at a time.
class CudnnHandle {
 public:
  /// Throws ErrorKind::resource without cuDNN. `stream` is used for trial runs.
  explicit CudnnHandle(std::shared_ptr<const Stream> stream);
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  cudnnHandle_t get() const { return handle_.get(); }
  const Stream& stream() const { return *stream_; }
  /// Sends further work to this stream.
  void use(const Stream& stream) const;

 private:
  std::shared_ptr<const Stream> stream_;
  CudnnObject<cudnnHandle_t> handle_;
};

/// A unidirectional layer over sequences of one length, all in f32, with two biases.
struct RecurrentShape {
  cudnnRNNMode_t cell = CUDNN_LSTM;
  int steps = 0, batch = 0, inputs = 0, units = 0;
  bool training = false;  ///< whether gradients() follows forward()

  /// "an lstm of 512 units, 30 steps, 128 rows of 512".
  std::string text() const;
};

/// A method of cuDNN for a layer. `math` determines the rounding of factors: CUDNN_FMA_MATH none,
/// CUDNN_DEFAULT_MATH and CUDNN_TENSOR_OP_MATH tf32, with conversion f16.
struct RecurrentMethod {
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
  cudnnMathType_t math = CUDNN_FMA_MATH;
  bool operator==(const RecurrentMethod&) const = default;

  /// "persist-static, fma".
  std::string text() const;
};
/// Every algorithm with every math type, in the order of the enumerations.
std::vector<RecurrentMethod> all_recurrent_methods();

/// The buffers of a layer: x [steps, batch, inputs], y [steps, batch, units], h and c [batch,
/// units], each contiguous. 0 means absent, where cuDNN allows it (c without a cell state, last_h,
/// last_c).
struct RecurrentMemory {
  CUdeviceptr x = 0, h = 0, c = 0, weights = 0, y = 0, last_h = 0, last_c = 0;
  CUdeviceptr dy = 0, last_dh = 0, last_dc = 0, dx = 0, dh = 0, dc = 0, dweights = 0;
  CUdeviceptr workspace = 0, reserve = 0;
};

/// The offsets of a matrix and a bias in a layer's weights, in elements.
struct WeightPlace {
  size_t matrix = 0, bias = 0;
  std::array<int, 2> extents{};  ///< of the matrix, row-major
};

/// A layer with a chosen method.
class RecurrentLayer {
 public:
  /// Throws ErrorKind::resource, with cuDNN's reason, if cuDNN does not support the shape with this
  /// method.
  RecurrentLayer(std::shared_ptr<const CudnnHandle> handle, const RecurrentShape& shape,
                 const RecurrentMethod& method);

  size_t weight_bytes() const { return weight_bytes_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t reserve_bytes() const { return reserve_bytes_; }
  /// The layout of the weights: the input matrices of each gate, then the state matrices.
  std::vector<WeightPlace> weight_places() const;

  /// Enqueues the layer; with `training` it fills `reserve`.
  void forward(const RecurrentMemory& memory, const Stream& stream) const;
  /// Enqueues all its gradients; `reserve` was filled by forward(). The gradients of the weights
  /// are overwritten, not accumulated.
  void gradients(const RecurrentMemory& memory, const Stream& stream) const;

 private:
  void describe(const RecurrentMethod& method);
  void check(cudnnStatus_t status, std::string_view call) const;

  std::shared_ptr<const CudnnHandle> handle_;
  RecurrentShape shape_;
  CudnnObject<cudnnDropoutDescriptor_t> dropout_;
  CudnnObject<cudnnRNNDescriptor_t> layer_;
  CudnnObject<cudnnRNNDataDescriptor_t> x_, y_;
  CudnnObject<cudnnTensorDescriptor_t> state_;
  size_t weight_bytes_ = 0, workspace_bytes_ = 0, reserve_bytes_ = 0;
};

}  // namespace graphc::core::cuda
