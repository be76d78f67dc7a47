// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cudnn.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

constexpr std::array<std::string_view, 1> kCudnnNames{"libcudnn.so.9"};
constexpr std::array<std::string_view, 26> kCudnnSymbols{
    "cudnnGetVersion",
    "cudnnGetErrorString",
    "cudnnGetLastErrorString",
#define GRAPHC_CUDNN_FUNCTION(name, parameters) #name,
#include "runtime/cuda/cudnn.def"
#undef GRAPHC_CUDNN_FUNCTION
};
static_assert(!kCudnnSymbols.back().empty());

/// The maximum length of cuDNN's error text.
constexpr size_t kLongestReason = 400;

struct LoadedCudnn {
  Cudnn functions;
  FoundLibrary library;
};

LoadedCudnn load_cudnn(const Places& places) {
  Opened opened = open_library({"cudnn", kCudnnNames, kCudnnSymbols, "cuDNN 9"}, places);
  LoadedCudnn loaded{{}, std::move(opened.found)};
  if (opened.handle == nullptr) return loaded;
  Cudnn& cudnn = loaded.functions;
  const auto find = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened.handle, name));
  };
#define GRAPHC_CUDNN_FUNCTION(name, parameters) find(cudnn.name, #name);
#include "runtime/cuda/cudnn.def"
#undef GRAPHC_CUDNN_FUNCTION
  find(cudnn.cudnnGetVersion, "cudnnGetVersion");
  find(cudnn.cudnnGetErrorString, "cudnnGetErrorString");
  find(cudnn.cudnnGetLastErrorString, "cudnnGetLastErrorString");
  loaded.library.version = library_version_text(cudnn.cudnnGetVersion());
  return loaded;
}

const LoadedCudnn& loaded_cudnn() {
  static const LoadedCudnn loaded = load_cudnn(places_of_environment());
  return loaded;
}

const Cudnn& cudnn() {
  const LoadedCudnn& loaded = loaded_cudnn();
  if (!loaded.library.why_not.empty()) throw resource_error("no cuDNN: {}", loaded.library.why_not);
  return loaded.functions;
}

/// The error of a call: "cudnnCreate: CUDNN_STATUS_NOT_INITIALIZED: no GPU". A wrong argument,
/// which only a defect of graphc can cause, is ErrorKind::internal.
Error error_of(cudnnStatus_t status, std::string_view call, std::string_view about) {
  std::array<char, kLongestReason> reason{};
  cudnn().cudnnGetLastErrorString(reason.data(), reason.size());
  reason.back() = '\0';
  std::string message(call);
  if (!about.empty()) message += fmt::format(" ({})", about);
  message += fmt::format(": {}", cudnn().cudnnGetErrorString(status));
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    message += ": out of memory";
  if (reason[0] != '\0') message += fmt::format(": {}", reason.data());
  return Error(status / 1000 == 2 ? ErrorKind::internal : ErrorKind::resource, {}, message);
}

template <typename Handle>
CudnnObject<Handle> made(cudnnStatus_t (*create)(Handle*), cudnnStatus_t (*destroy)(Handle),
                         std::string_view call) {
  Handle handle = nullptr;
  if (const cudnnStatus_t status = create(&handle)) throw error_of(status, call, "");
  return CudnnObject<Handle>(handle, destroy);
}

}  // namespace

bool cudnn_present(std::string* why_not) {
  const std::string& reason = cudnn_library().why_not;
  if (why_not != nullptr && !reason.empty()) *why_not = reason;
  return reason.empty();
}

const FoundLibrary& cudnn_library() { return loaded_cudnn().library; }

CudnnHandle::CudnnHandle(std::shared_ptr<const Stream> stream) : stream_(std::move(stream)) {
  stream_->device()->make_current();
  handle_ = made(cudnn().cudnnCreate, cudnn().cudnnDestroy, "cudnnCreate");
  use(*stream_);
}

CudnnHandle::~CudnnHandle() {
  const KeptContext context;
  stream_->device()->make_current_for_destruction();
  handle_ = {};
}

void CudnnHandle::use(const Stream& stream) const {
  if (const cudnnStatus_t status = cudnn().cudnnSetStream(get(), stream.get()))
    throw error_of(status, "cudnnSetStream", "");
}

std::string RecurrentShape::text() const {
  const char* name = cell == CUDNN_LSTM ? "an lstm" : cell == CUDNN_GRU ? "a gru" : "an rnn";
  return fmt::format("{} of {} units, {} steps, {} rows of {}{}", name, units, steps, batch, inputs,
                     training ? ", with gradients" : "");
}

std::string RecurrentMethod::text() const {
  constexpr std::string_view algorithms[] = {"standard", "persist-static", "persist-dynamic",
                                             "persist-static-small-h"};
  constexpr std::string_view kinds[] = {"default", "tensor-op", "tensor-op-allow-conversion",
                                        "fma"};
  return fmt::format("{}, {}", algorithms[algorithm], kinds[math]);
}

std::vector<RecurrentMethod> all_recurrent_methods() {
  std::vector<RecurrentMethod> all;
  for (int algorithm = 0; algorithm <= CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H; ++algorithm) {
    for (int math = 0; math <= CUDNN_FMA_MATH; ++math)
      all.push_back({cudnnRNNAlgo_t(algorithm), cudnnMathType_t(math)});
  }
  return all;
}

RecurrentLayer::RecurrentLayer(std::shared_ptr<const CudnnHandle> handle,
                               const RecurrentShape& shape, const RecurrentMethod& method)
    : handle_(std::move(handle)), shape_(shape) {
  const Cudnn& library = cudnn();
  dropout_ = made(library.cudnnCreateDropoutDescriptor, library.cudnnDestroyDropoutDescriptor,
                  "cudnnCreateDropoutDescriptor");
  layer_ = made(library.cudnnCreateRNNDescriptor, library.cudnnDestroyRNNDescriptor,
                "cudnnCreateRNNDescriptor");
  x_ = made(library.cudnnCreateRNNDataDescriptor, library.cudnnDestroyRNNDataDescriptor,
            "cudnnCreateRNNDataDescriptor");
  y_ = made(library.cudnnCreateRNNDataDescriptor, library.cudnnDestroyRNNDataDescriptor,
            "cudnnCreateRNNDataDescriptor");
  state_ = made(library.cudnnCreateTensorDescriptor, library.cudnnDestroyTensorDescriptor,
                "cudnnCreateTensorDescriptor");
  describe(method);
  check(library.cudnnGetRNNWeightSpaceSize(handle_->get(), layer_.get(), &weight_bytes_),
        "cudnnGetRNNWeightSpaceSize");
  const auto mode = shape.training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  check(library.cudnnGetRNNTempSpaceSizes(handle_->get(), layer_.get(), mode, x_.get(),
                                          &workspace_bytes_, &reserve_bytes_),
        "cudnnGetRNNTempSpaceSizes");
}

void RecurrentLayer::describe(const RecurrentMethod& method) {
  const Cudnn& library = cudnn();
  // A single layer has no dropout, but cuDNN requires the descriptor.
  check(library.cudnnSetDropoutDescriptor(dropout_.get(), handle_->get(), 0, nullptr, 0, 0),
        "cudnnSetDropoutDescriptor");
  check(library.cudnnSetRNNDescriptor_v8(layer_.get(), method.algorithm, shape_.cell,
                                         CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL,
                                         CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                                         method.math, shape_.inputs, shape_.units, shape_.units, 1,
                                         dropout_.get(), kCudnnPaddedIoDisabled),
        "cudnnSetRNNDescriptor_v8");
  if (method.algorithm == CUDNN_RNN_ALGO_PERSIST_DYNAMIC)
    check(library.cudnnBuildRNNDynamic(handle_->get(), layer_.get(), shape_.batch),
          "cudnnBuildRNNDynamic");
  const std::vector<int> lengths(size_t(shape_.batch), shape_.steps);
  float padding = 0;
  const auto sequence = [&](cudnnRNNDataDescriptor_t form, int width) {
    check(library.cudnnSetRNNDataDescriptor(form, CUDNN_DATA_FLOAT,
                                            CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, shape_.steps,
                                            shape_.batch, width, lengths.data(), &padding),
          "cudnnSetRNNDataDescriptor");
  };
  sequence(x_.get(), shape_.inputs);
  sequence(y_.get(), shape_.units);
  const int extents[] = {1, shape_.batch, shape_.units};
  const int strides[] = {shape_.batch * shape_.units, shape_.units, 1};
  check(library.cudnnSetTensorNdDescriptor(state_.get(), CUDNN_DATA_FLOAT, 3, extents, strides),
        "cudnnSetTensorNdDescriptor");
}

void RecurrentLayer::check(cudnnStatus_t status, std::string_view call) const {
  if (status != CUDNN_STATUS_SUCCESS) throw error_of(status, call, shape_.text());
}

std::vector<WeightPlace> RecurrentLayer::weight_places() const {
  const Cudnn& library = cudnn();
  const auto matrix = made(library.cudnnCreateTensorDescriptor,
                           library.cudnnDestroyTensorDescriptor, "cudnnCreateTensorDescriptor");
  const auto bias = made(library.cudnnCreateTensorDescriptor, library.cudnnDestroyTensorDescriptor,
                         "cudnnCreateTensorDescriptor");
  const int gates = shape_.cell == CUDNN_LSTM ? 4 : shape_.cell == CUDNN_GRU ? 3 : 1;
  // Queries addresses relative to a fictitious base; with base 0 an absent matrix would look
  // present.
  char* const base = reinterpret_cast<char*>(size_t{1} << 40);
  std::vector<WeightPlace> places;
  for (int linear = 0; linear < 2 * gates; ++linear) {
    void *matrix_at = nullptr, *bias_at = nullptr;
    check(library.cudnnGetRNNWeightParams(handle_->get(), layer_.get(), 0, weight_bytes_, base,
                                          linear, matrix.get(), &matrix_at, bias.get(), &bias_at),
          "cudnnGetRNNWeightParams");
    cudnnDataType_t type{};
    int rank = 0;
    std::array<int, 3> extents{}, strides{};
    check(library.cudnnGetTensorNdDescriptor(matrix.get(), 3, &type, &rank, extents.data(),
                                             strides.data()),
          "cudnnGetTensorNdDescriptor");
    const auto element = [&](void* at) {
      return at == nullptr ? SIZE_MAX : size_t(static_cast<char*>(at) - base) / sizeof(float);
    };
    places.push_back({element(matrix_at), element(bias_at), {extents[1], extents[2]}});
  }
  return places;
}

void RecurrentLayer::forward(const RecurrentMemory& memory, const Stream& stream) const {
  handle_->use(stream);
  const auto mode = shape_.training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  check(cudnn().cudnnRNNForward(
            handle_->get(), layer_.get(), mode, nullptr, x_.get(), pointer_to(memory.x), y_.get(),
            pointer_to(memory.y), state_.get(), pointer_to(memory.h), pointer_to(memory.last_h),
            state_.get(), pointer_to(memory.c), pointer_to(memory.last_c), weight_bytes_,
            pointer_to(memory.weights), workspace_bytes_, pointer_to(memory.workspace),
            reserve_bytes_, pointer_to(memory.reserve)),
        "cudnnRNNForward");
}

void RecurrentLayer::gradients(const RecurrentMemory& memory, const Stream& stream) const {
  handle_->use(stream);
  check(cudnn().cudnnRNNBackwardData_v8(
            handle_->get(), layer_.get(), nullptr, y_.get(), pointer_to(memory.y),
            pointer_to(memory.dy), x_.get(), pointer_to(memory.dx), state_.get(),
            pointer_to(memory.h), pointer_to(memory.last_dh), pointer_to(memory.dh), state_.get(),
            pointer_to(memory.c), pointer_to(memory.last_dc), pointer_to(memory.dc), weight_bytes_,
            pointer_to(memory.weights), workspace_bytes_, pointer_to(memory.workspace),
            reserve_bytes_, pointer_to(memory.reserve)),
        "cudnnRNNBackwardData_v8");
  // cuDNN can only accumulate these gradients.
  stream.fill(memory.dweights, 0, weight_bytes_, "gradients of weights");
  check(cudnn().cudnnRNNBackwardWeights_v8(
            handle_->get(), layer_.get(), CUDNN_WGRAD_MODE_ADD, nullptr, x_.get(),
            pointer_to(memory.x), state_.get(), pointer_to(memory.h), y_.get(),
            pointer_to(memory.y), weight_bytes_, pointer_to(memory.dweights), workspace_bytes_,
            pointer_to(memory.workspace), reserve_bytes_, pointer_to(memory.reserve)),
        "cudnnRNNBackwardWeights_v8");
}

}  // namespace graphc::core::cuda
