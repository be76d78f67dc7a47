// SPDX-License-Identifier: Apache-2.0
// What of a step libraries do: cuDNN the layers of a plan, cuBLASLt products that it is faster at.
//
// There are several ways to do each, of which the fastest is found by trying them on the device
// when a step is compiled. What was found is remembered in the process, and on disk where kernels
// are (codegen/targets/cuda/launches/code.h): for a device, a version of the library, a shape and a
// precision.
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

/// What is to be tried on a device, as the options have it.
Alternatives alternatives_of(const CudaOptions& options);

/// Remembers choices by all that they depend on: in the process, and in files.
class Choices {
 public:
  explicit Choices(FileCache files) : files_(std::move(files)) {}

  /// What was chosen under the key, or what `choose` gives now: "" is no choice, and is not
  /// remembered.
  std::string get(const std::string& key, const std::function<std::string()>& choose) const;
  /// Forgets what this process has chosen.
  static void clear();

 private:
  FileCache files_;
};

/// The least time in milliseconds of a few runs of what `enqueue` puts into the stream, after one
/// that does not count.
float least_milliseconds(const Stream& stream, const std::function<void()>& enqueue);

/// The layers of a plan by cuDNN, with the memory that they have of their own.
class LayerLibrary {
 public:
  /// Chooses the method of each layer of `launches`. Throws ErrorKind::resource without cuDNN,
  /// where it does not have a layer, or without memory.
  LayerLibrary(std::shared_ptr<const Stream> stream, const Launches& launches, Precision precision,
               const Choices& choices);

  /// Puts the call into a stream; `addresses` are those of layer_addresses(), 0 for absent ones.
  void enqueue(const LayerCall& call, const std::vector<CUdeviceptr>& addresses,
               const Stream& stream) const;
  /// Bytes of memory that the layers have.
  size_t bytes() const;
  /// What was chosen, a line for each shape.
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

/// A product by cuBLASLt and the method that is used.
struct ChosenProduct {
  std::shared_ptr<const LibraryProduct> product;
  ProductMethod method;
};

/// Products of a step by cuBLASLt.
class ProductLibrary {
 public:
  /// Throws ErrorKind::resource without cuBLASLt.
  explicit ProductLibrary(std::shared_ptr<const Stream> stream);

  /// What puts a method of cuBLASLt, with the rest of its nest, into the stream.
  using Enqueue = std::function<void(const ChosenProduct&)>;
  /// How the product is done: by the method with which `by_library` takes least, or not at all
  /// (nothing) if `generated` takes less. Without `generated` it is not asked: cuBLASLt's first
  /// method, or nothing if it has none. `key` is what it depends on besides the shape.
  std::optional<ChosenProduct> choose(const LibraryForm& form, const Enqueue& by_library,
                                      const std::function<void()>& generated,
                                      const std::string& key, const Choices& choices);
  /// When all are chosen: keeps no more workspace than these want.
  void settle(const std::vector<std::optional<ChosenProduct>>& chosen);
  size_t bytes() const { return workspace_.bytes(); }
  void enqueue(const ChosenProduct& chosen, CUdeviceptr left, CUdeviceptr right, CUdeviceptr result,
               const Stream& stream) const;

 private:
  size_t workspace_for_trials();

  std::shared_ptr<const Stream> stream_;
  std::shared_ptr<const CublasLtHandle> handle_;
  DeviceBuffer workspace_;
  bool has_asked_ = false;  ///< for as much workspace as methods may want
};

}  // namespace graphc::core::cuda
