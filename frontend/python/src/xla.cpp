// SPDX-License-Identifier: Apache-2.0
// Graphs as functions that XLA calls, for the Python of graphc.jax. There is one function, whose
// attributes say which compiled graph runs: its number is a checksum of the graph, so that a
// program which XLA keeps on disk finds the same graph in another process, or none.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "frontend/divided.h"
#include "frontend/python/src/bindings.h"
#include "frontend/python/src/xla_ffi.h"

namespace graphc::core::python {
namespace {

/// The graphs that XLA may call. They live as long as the process: so does a program of XLA.
class Callable {
 public:
  struct Entry {
    Divided* graph = nullptr;
    std::mutex* session = nullptr;  ///< a session serves one thread at a time
  };

  int64_t add(Divided& graph) {
    const std::lock_guard lock(mutex_);
    // Attributes are signed.
    const auto number = int64_t(graph.checksum() >> 1);
    entries_.try_emplace(number, Entry{&graph, &sessions_[&graph.session()]});
    return number;
  }

  Entry find(int64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(number);
    if (found != entries_.end()) return found->second;
    throw input_error({},
                      "graphc.jax: this process has not compiled the graph of number {}: call the "
                      "cell with these shapes before a program that another process exported",
                      number);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<int64_t, Entry> entries_;
  std::unordered_map<const Session*, std::mutex> sessions_;
};

Callable& callable() {
  static auto* const graphs = new Callable;  // XLA's threads may outlive static objects
  return *graphs;
}

DType dtype_of(xla::DataType type) {
  switch (type) {
    case xla::kPred:
      return DType::boolean;
    case xla::kS32:
      return DType::i32;
    case xla::kS64:
      return DType::i64;
    case xla::kU8:
      return DType::u8;
    case xla::kU32:
      return DType::u32;
    case xla::kF32:
      return DType::f32;
    case xla::kF64:
      return DType::f64;
    case xla::kBf16:
      return DType::bf16;
  }
  throw input_error({}, "graphc.jax: an array of XLA's type {}, which graphc does not have",
                    int(type));
}

/// XLA's memory as tensors, which do not own it.
std::vector<Tensor> tensors_of(const xla::Buffers& buffers) {
  std::vector<Tensor> tensors;
  for (int64_t i = 0; i < buffers.size; ++i) {
    GRAPHC_CHECK(buffers.types[i] == xla::kIsBuffer, "XLA gives a buffer");
    const auto& buffer = *static_cast<const xla::Buffer*>(buffers.items[i]);
    std::vector<int64_t> extents(buffer.dims, buffer.dims + buffer.rank);
    const Type type{dtype_of(buffer.dtype), Shape(extents)};
    // Without elements there may be no memory.
    tensors.push_back(
        type.shape.elements() == 0
            ? Tensor(type)
            : Tensor(type, std::shared_ptr<std::byte>(std::shared_ptr<std::byte>(),
                                                      static_cast<std::byte*>(buffer.data))));
  }
  return tensors;
}

int64_t attribute(const xla::Attributes& attributes, std::string_view name) {
  for (int64_t i = 0; i < attributes.size; ++i) {
    if (std::string_view(attributes.names[i]->begin, attributes.names[i]->size) != name) continue;
    GRAPHC_CHECK(attributes.types[i] == xla::kIsScalar, "an attribute is a number");
    const auto& scalar = *static_cast<const xla::Scalar*>(attributes.items[i]);
    GRAPHC_CHECK(scalar.dtype == xla::kS64, "an attribute is an i64");
    return *static_cast<const int64_t*>(scalar.value);
  }
  throw input_error({}, "graphc.jax: a call without the attribute '{}'", name);
}

void check_version(const xla::Api& api) {
  // A later minor version has what this one has, in the same places; XLA refuses one that is too
  // old for it.
  if (api.version.major == xla::kMajorVersion) return;
  throw core::Error(
      ErrorKind::usage, {},
      fmt::format("graphc.jax: version {}.{} of XLA's foreign function interface: wanted {}.x: "
                  "install an earlier jaxlib, or a later graphc",
                  api.version.major, api.version.minor, xla::kMajorVersion));
}

void call(xla::CallFrame& frame) {
  check_version(*frame.api);
  if (frame.extensions != nullptr && frame.extensions->type == xla::kMetadataExtension) {
    xla::Metadata& metadata =
        *reinterpret_cast<xla::MetadataExtension*>(frame.extensions)->metadata;
    metadata.version.major = frame.api->version.major;
    metadata.version.minor = std::min(frame.api->version.minor, xla::kMinorVersion);
    metadata.traits = 0;
    return;
  }
  if (frame.stage != xla::kExecute) return;
  const Callable::Entry entry = callable().find(attribute(frame.attributes, "graph"));
  const std::vector<Tensor> inputs = tensors_of(frame.arguments);
  std::vector<Tensor> results = tensors_of(frame.results);
  const std::lock_guard lock(*entry.session);
  if (attribute(frame.attributes, "part") == 0) {
    entry.graph->first_into(inputs, results);
  } else {
    entry.graph->second_into(inputs, results);
  }
}

xla::Error* run(xla::CallFrame* frame) {
  std::string text;
  xla::ErrorCode code = xla::kUnknown;
  try {
    call(*frame);
    return nullptr;
  } catch (const core::Error& error) {
    text = error.what();
    code = error.kind() == ErrorKind::input ? xla::kInvalidArgument : xla::kFailedPrecondition;
  } catch (const std::exception& error) {
    text = error.what();
  }
  xla::ErrorCreateArguments arguments{sizeof arguments, nullptr, text.c_str(), code};
  return frame->api->create_error(&arguments);
}

}  // namespace

void bind_xla(nb::module_& module) {
  module.def(
      "_xla_function",
      [] { return nb::capsule(reinterpret_cast<void*>(&run), "xla._CUSTOM_CALL_TARGET"); },
      "The function that XLA calls.");
  module.def(
      "_xla_number", [](Divided& graph) { return callable().add(graph); }, nb::arg("graph"),
      "The number by which XLA calls a graph, which has to live as long as the process.");
}

}  // namespace graphc::core::python
