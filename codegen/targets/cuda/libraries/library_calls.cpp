// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/libraries/library_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <mutex>

#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

/// The fastest of so many runs counts.
constexpr int kRuns = 3;
/// Maximum workspace of cuBLASLt: the size that its documentation recommends for an H100.
constexpr size_t kProductWorkspace = size_t{32} << 20;
constexpr const char* kGenerated = "generated";

struct Known {
  std::mutex mutex;
  std::map<std::string, std::string> choices;
};
Known& known() {
  static Known all;
  return all;
}

cudnnRNNMode_t mode_of(LayerKind kind) {
  return kind == LayerKind::lstm ? CUDNN_LSTM : kind == LayerKind::gru ? CUDNN_GRU : CUDNN_RNN_TANH;
}

int narrow(const LayerCall& call, int64_t extent) {
  if (extent <= std::numeric_limits<int>::max()) return int(extent);
  throw resource_error("%{}: cuDNN has no layer with an extent of {}", call.name, extent);
}

RecurrentShape shape_of(const LayerCall& call) {
  RecurrentShape shape;
  shape.cell = mode_of(call.kind);
  shape.steps = narrow(call, call.steps);
  shape.batch = narrow(call, call.batch);
  shape.inputs = narrow(call, call.inputs);
  shape.units = narrow(call, call.units);
  shape.training = call.pair >= 0;
  return shape;
}

/// The types to which cuDNN may round factors, given our rounding: never less precise ones.
std::vector<cudnnMathType_t> allowed_math(Precision precision) {
  switch (factors_of(precision)) {
    case Factors::f16:
      return {CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION,
              CUDNN_FMA_MATH};
    case Factors::tf32:
    case Factors::bf16:
      return {CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH, CUDNN_FMA_MATH};
    case Factors::as_stored:
    case Factors::split_tf32:
    case Factors::two_bf16:
    case Factors::three_bf16:
      break;
  }
  return {CUDNN_FMA_MATH};
}

/// Checks that the layer has its weights where the plan puts them.
void check_weights(const RecurrentLayer& layer, const LayerCall& call) {
  const LayerWeights form{call.kind, call.inputs, call.units};
  const std::vector<WeightPlace> places = layer.weight_places();
  bool as_known = layer.weight_bytes() == size_t(form.elements()) * sizeof(float);
  for (int64_t gate = 0; gate < form.gates(); ++gate) {
    const WeightPlace& of_input = places[size_t(gate)];
    const WeightPlace& of_state = places[size_t(form.gates() + gate)];
    as_known = as_known && of_input.matrix == size_t(form.input_matrix(gate)) &&
               of_input.bias == size_t(form.input_bias(gate)) &&
               of_state.matrix == size_t(form.state_matrix(gate)) &&
               of_state.bias == size_t(form.state_bias(gate)) &&
               of_input.extents == std::array{int(call.units), int(call.inputs)} &&
               of_state.extents == std::array{int(call.units), int(call.units)};
  }
  if (!as_known)
    throw resource_error("%{}: cuDNN {} lays the weights of a layer out as none before it",
                         call.name, cudnn_library().version);
}

/// Memory for a trial of a single layer, filled with zeros.
class TrialMemory {
 public:
  TrialMemory(const CudnnHandle& handle, const RecurrentShape& shape, const RecurrentLayer& layer) {
    const size_t rows = size_t(shape.steps) * size_t(shape.batch);
    const size_t x = rows * size_t(shape.inputs) * sizeof(float);
    const size_t y = rows * size_t(shape.units) * sizeof(float);
    const size_t state = size_t(shape.batch) * size_t(shape.units) * sizeof(float);
    const bool cell = shape.cell == CUDNN_LSTM;
    const size_t c = cell ? state : 0, weights = layer.weight_bytes();
    const std::array<std::pair<CUdeviceptr*, size_t>, 16> parts{
        {{&memory_.x, x},
         {&memory_.h, state},
         {&memory_.c, c},
         {&memory_.weights, weights},
         {&memory_.y, y},
         {&memory_.last_h, state},
         {&memory_.last_c, c},
         {&memory_.dy, y},
         {&memory_.last_dh, state},
         {&memory_.last_dc, c},
         {&memory_.dx, x},
         {&memory_.dh, state},
         {&memory_.dc, c},
         {&memory_.dweights, weights},
         {&memory_.workspace, layer.workspace_bytes()},
         {&memory_.reserve, layer.reserve_bytes()}}};
    const auto aligned = [](size_t bytes) { return (bytes + 255) / 256 * 256; };
    size_t all = 0;
    for (const auto& [address, bytes] : parts) all += aligned(bytes);
    buffer_ = DeviceBuffer(handle.stream().device(), all, "a layer that is tried");
    handle.stream().fill(buffer_.address(), 0, all, "a layer that is tried");
    size_t at = 0;
    for (const auto& [address, bytes] : parts) {
      *address = bytes > 0 ? buffer_.address() + at : 0;
      at += aligned(bytes);
    }
  }

  const RecurrentMemory& memory() const { return memory_; }

 private:
  RecurrentMemory memory_;
  DeviceBuffer buffer_;
};

/// The time of the layer, including its gradients if these are taken.
float milliseconds_of(const CudnnHandle& handle, const RecurrentShape& shape,
                      const RecurrentLayer& layer) {
  const TrialMemory trial(handle, shape, layer);
  return least_milliseconds(handle.stream(), [&] {
    layer.forward(trial.memory(), handle.stream());
    if (shape.training) layer.gradients(trial.memory(), handle.stream());
  });
}

std::string text_of(const ProductMethod& method) {
  std::string text = fmt::format("{}", method.workspace_bytes);
  for (const uint64_t word : method.algorithm.data) text += fmt::format(" {:x}", word);
  return text;
}

std::optional<ProductMethod> method_of(const std::string& text) {
  ProductMethod method;
  auto& data = method.algorithm.data;
  unsigned long long words[9]{};
  const int count = std::sscanf(text.c_str(), "%llu %llx %llx %llx %llx %llx %llx %llx %llx",
                                &words[0], &words[1], &words[2], &words[3], &words[4], &words[5],
                                &words[6], &words[7], &words[8]);
  if (count != 9 || words[0] > kProductWorkspace) return std::nullopt;
  method.workspace_bytes = words[0];
  std::copy(words + 1, words + 9, data);
  return method;
}

}  // namespace

Alternatives alternatives_of(const CudaOptions& options) {
  Alternatives all;
  if (options.products == Products::cublaslt) all.products = 0;
  if (options.products == Products::either && cublaslt_present())
    all.products = options.least_tried_work;
  if (!options.placement) all.placements = options.least_tried_work;
  return all;
}

std::string Choices::get(const std::string& key, const std::function<std::string()>& choose) const {
  {
    const std::lock_guard lock(known().mutex);
    const auto found = known().choices.find(key);
    if (found != known().choices.end()) return found->second;
  }
  std::optional<std::string> choice = files_.find(key);
  if (!choice) {
    choice = choose();
    if (choice->empty()) return "";
    files_.keep(key, *choice);
  }
  const std::lock_guard lock(known().mutex);
  return known().choices.emplace(key, *choice).first->second;
}

void Choices::clear() {
  const std::lock_guard lock(known().mutex);
  known().choices.clear();
}

float least_milliseconds(const Stream& stream, const std::function<void()>& enqueue) {
  enqueue();
  const Event begin(stream.device()), end(stream.device());
  float least = std::numeric_limits<float>::max();
  for (int run = 0; run < kRuns; ++run) {
    begin.record(stream);
    enqueue();
    end.record(stream);
    end.synchronize();
    least = std::min(least, end.milliseconds_since(begin));
  }
  return least;
}

LayerLibrary::LayerLibrary(std::shared_ptr<const Stream> stream, const Launches& launches,
                           Precision precision, const Choices& choices)
    : handle_(std::make_shared<CudnnHandle>(std::move(stream))) {
  size_t workspace = 0;
  for (const Launch& launch : launches.step) {
    if (launch.layer == nullptr) continue;
    add(*launch.layer, precision, choices);
    const RecurrentLayer& layer = layer_of(*launch.layer);
    workspace = std::max(workspace, layer.workspace_bytes());
    if (launch.layer->pair < 0) continue;
    const size_t pair = size_t(launch.layer->pair);
    if (reserves_.size() <= pair) reserves_.resize(pair + 1);
    DeviceBuffer& reserve = reserves_[pair];
    if (reserve.bytes() == 0)
      reserve = DeviceBuffer(handle_->stream().device(), layer.reserve_bytes(),
                             "what %" + launch.layer->name + " keeps for its gradients");
  }
  workspace_ = DeviceBuffer(handle_->stream().device(), workspace, "cuDNN's workspace");
}

void LayerLibrary::add(const LayerCall& call, Precision precision, const Choices& choices) {
  const RecurrentShape shape = shape_of(call);
  std::unique_ptr<RecurrentLayer>& layer = layers_[shape.text()];
  if (layer) return;
  const std::string key =
      fmt::format("cuDNN {} on {}: {} in {}\n", cudnn_library().version,
                  handle_->stream().device()->properties().name, shape.text(), name_of(precision));
  const auto read = [](const std::string& text) {
    for (const RecurrentMethod& method : all_recurrent_methods()) {
      if (method.text() == text) return method;
    }
    return RecurrentMethod();
  };
  const RecurrentMethod method =
      read(choices.get(key, [&] { return fastest(call, precision).text(); }));
  layer = std::make_unique<RecurrentLayer>(handle_, shape, method);
  check_weights(*layer, call);
  // The first run makes cuDNN load its code, which cannot be done while a graph is captured.
  const TrialMemory trial(*handle_, shape, *layer);
  layer->forward(trial.memory(), handle_->stream());
  if (shape.training) layer->gradients(trial.memory(), handle_->stream());
  handle_->stream().synchronize("a layer that is tried");
  notes_.push_back(fmt::format("{}: {}", shape.text(), method.text()));
}

RecurrentMethod LayerLibrary::fastest(const LayerCall& call, Precision precision) const {
  const std::vector<cudnnMathType_t> math = allowed_math(precision);
  const RecurrentShape shape = shape_of(call);
  std::optional<RecurrentMethod> best;
  std::optional<Error> refusal;
  float least = std::numeric_limits<float>::max();
  for (const RecurrentMethod& method : all_recurrent_methods()) {
    if (std::ranges::find(math, method.math) == math.end()) continue;
    try {
      const RecurrentLayer layer(handle_, shape, method);
      const float time = milliseconds_of(*handle_, shape, layer);
      if (time >= least) continue;
      least = time;
      best = method;
    } catch (const Error& error) {
      // Most methods support only some shapes; the first refusal is that of the most general
      // method.
      if (error.kind() != ErrorKind::resource) throw;
      if (!refusal) refusal = error;
    }
  }
  if (!best) throw *refusal;
  return *best;
}

const RecurrentLayer& LayerLibrary::layer_of(const LayerCall& call) const {
  return *layers_.at(shape_of(call).text());
}

void LayerLibrary::enqueue(const LayerCall& call, const std::vector<CUdeviceptr>& at,
                           const Stream& stream) const {
  RecurrentMemory memory{at[0], at[1], at[2], at[3],  at[4],  at[5],  at[6],
                         at[7], at[8], at[9], at[10], at[11], at[12], at[13]};
  memory.workspace = workspace_.address();
  if (call.pair >= 0) memory.reserve = reserves_[size_t(call.pair)].address();
  const RecurrentLayer& layer = layer_of(call);
  call.gradients ? layer.gradients(memory, stream) : layer.forward(memory, stream);
}

size_t LayerLibrary::bytes() const {
  size_t sum = workspace_.bytes();
  for (const DeviceBuffer& reserve : reserves_) sum += reserve.bytes();
  return sum;
}

ProductLibrary::ProductLibrary(std::shared_ptr<const Stream> stream)
    : stream_(std::move(stream)), handle_(std::make_shared<CublasLtHandle>(stream_->device())) {}

size_t ProductLibrary::workspace_for_trials() {
  if (!has_asked_) {
    has_asked_ = true;
    // If memory is short, methods without a workspace remain.
    try {
      workspace_ = DeviceBuffer(stream_->device(), kProductWorkspace, "cuBLASLt's workspace");
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::resource) throw;
    }
  }
  return workspace_.bytes();
}

void ProductLibrary::settle(const std::vector<std::optional<ChosenProduct>>& chosen) {
  size_t most = 0;
  for (const auto& each : chosen) most = std::max(most, each ? each->method.workspace_bytes : 0);
  if (most == workspace_.bytes()) return;
  stream_->synchronize("products that are tried");
  workspace_ = DeviceBuffer();
  workspace_ = DeviceBuffer(stream_->device(), most, "cuBLASLt's workspace");
}

std::optional<ChosenProduct> ProductLibrary::choose(const LibraryForm& form,
                                                    const Enqueue& by_library,
                                                    const std::function<void()>& generated,
                                                    const std::string& key,
                                                    const Choices& choices) {
  const auto product = std::make_shared<const LibraryProduct>(handle_, form.shape);
  const auto fastest = [&]() -> std::string {
    const size_t workspace = generated ? workspace_for_trials() : kProductWorkspace;
    const std::vector<ProductMethod> methods = product->methods(workspace);
    if (methods.empty()) return kGenerated;
    if (!generated) return text_of(methods[0]);
    float least = least_milliseconds(*stream_, generated);
    std::string best = kGenerated;
    for (const ProductMethod& method : methods) {
      const float time = least_milliseconds(*stream_, [&] { by_library({product, method}); });
      if (time >= least) continue;
      least = time;
      best = text_of(method);
    }
    return best;
  };
  const std::string all =
      fmt::format("cuBLASLt {} on {}: {} from {} x {}, leading {} {} {}, type {} by {}{}\n{}",
                  cublaslt_library().version, stream_->device()->properties().name,
                  form.shape.text(), form.shape.rows, form.shape.columns, form.shape.left.leading,
                  form.shape.right.leading, form.shape.result_leading, int(form.shape.type),
                  int(form.shape.compute), generated ? "" : ", whatever our own takes", key);
  const std::optional<ProductMethod> method = method_of(choices.get(all, fastest));
  if (!method) return std::nullopt;
  return ChosenProduct{product, *method};
}

void ProductLibrary::enqueue(const ChosenProduct& chosen, CUdeviceptr left, CUdeviceptr right,
                             CUdeviceptr result, const Stream& stream) const {
  chosen.product->enqueue(stream, chosen.method, left, right, result, workspace_.address());
}

}  // namespace graphc::core::cuda
