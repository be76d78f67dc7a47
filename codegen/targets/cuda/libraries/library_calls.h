// SPDX-License-Identifier: Apache-2.0
// The parts of a step that libraries execute: cuDNN the layers of a plan, cuBLASLt products for
// which it is faster.
//
// Each can be computed by several methods. The fastest is found by trying them on the device when a
// step is compiled. The choice is stored in the process, and on disk next to the kernels
// (codegen/targets/cuda/launches/code.h), by device, version of the library, shape and precision.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/compile.h"
#include "codegen/step/plan.h"
#include "codegen/targets/cuda/libraries/library_product.h"
#include "runtime/cuda/cudnn.h"
#include "runtime/files/file_cache.h"

namespace graphc::core::cuda {

/// The alternatives to be tried on a device, according to the options.
Alternatives alternatives_of(const CudaOptions& options);

/// Stores choices under all that they depend on: in the process and in files.
class Choices {
 public:
  explicit Choices(FileCache files) : files_(std::move(files)) {}

  /// The choice stored under the key, or the result of `choose`; "" means no choice and is not
  /// stored.
  std::string get(const std::string& key, const std::function<std::string()>& choose) const;
  /// Deletes the choices stored in this process.
  static void clear();

 private:
  FileCache files_;
};

/// The least time in milliseconds of a few runs of the work that `enqueue` adds to the stream,
/// after one run that does not count.
float least_milliseconds(const Stream& stream, const std::function<void()>& enqueue);

/// The layers of a plan by cuDNN, and the memory that they own.
class LayerLibrary {
 public:
  /// Chooses the method of each layer of `launches`. Throws ErrorKind::resource if cuDNN is missing
  /// or does not support a layer, or if memory does not suffice.
  LayerLibrary(std::shared_ptr<const Stream> stream, const Launches& launches, Precision precision,
               const Choices& choices);

  /// Enqueues the call in a stream; `addresses` are those of layer_addresses(), 0 for absent ones.
  void enqueue(const LayerCall& call, const std::vector<CUdeviceptr>& addresses,
               const Stream& stream) const;
  /// Bytes of memory that the layers own.
  size_t bytes() const;
  /// The choices, a line for each shape.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const RecurrentLayer& layer_of(const LayerCall& call) const;
  void add(const LayerCall& call, Precision precision, const Choices& choices);
  RecurrentMethod fastest(const LayerCall& call, Precision precision) const;

  std::shared_ptr<const CudnnHandle> handle_;
  std::map<std::string, std::unique_ptr<RecurrentLayer>> layers_;  ///< by the shape's text
  DeviceBuffer workspace_;
  std::vector<DeviceBuffer> reserves_;  ///< by LayerCall::pair
  std::vector<std::string> notes_;
};

/// A product by cuBLASLt and the chosen method.
struct ChosenProduct {
  std::shared_ptr<const LibraryProduct> product;
  ProductMethod method;
};

/// Products of a step by cuBLASLt.
class ProductLibrary {
 public:
  /// Throws ErrorKind::resource without cuBLASLt.
  explicit ProductLibrary(std::shared_ptr<const Stream> stream);

  /// Enqueues a method of cuBLASLt, with the rest of its nest, in the stream.
  using Enqueue = std::function<void(const ChosenProduct&)>;
  /// How the product is computed: by the method with which `by_library` takes least time, or not by
  /// the library (nothing) if `generated` takes less. Without `generated` nothing is measured: the
  /// result is cuBLASLt's first method, or nothing if it has none. `key` names everything but the
  /// shape that the choice depends on.
  std::optional<ChosenProduct> choose(const LibraryForm& form, const Enqueue& by_library,
                                      const std::function<void()>& generated,
                                      const std::string& key, const Choices& choices);
  /// Called when all products are chosen: reduces the workspace to what they need.
  void settle(const std::vector<std::optional<ChosenProduct>>& chosen);
  size_t bytes() const { return workspace_.bytes(); }
  void enqueue(const ChosenProduct& chosen, CUdeviceptr left, CUdeviceptr right, CUdeviceptr result,
               const Stream& stream) const;

 private:
  size_t workspace_for_trials();

  std::shared_ptr<const Stream> stream_;
  std::shared_ptr<const CublasLtHandle> handle_;
  DeviceBuffer workspace_;
  bool has_asked_ = false;  ///< whether the maximum workspace has been requested
};

}  // namespace graphc::core::cuda
