// SPDX-License-Identifier: Apache-2.0
// Runs a text's kernel on arrays of a test.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "tests/cuda/emulator/run.h"

namespace graphc::core::cuda_emulator {

/// How often a test repeats what depends on the order of threads, with another seed each.
constexpr uint64_t seeds = 20;

/// What an error says, "" if there is none.
template <typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

/// An array that kernels see by its name; its last element is the allocation's end.
template <typename T>
class Array {
 public:
  Array(DeviceMemory& memory, const std::string& name, std::vector<T> values)
      : Array(memory, name, values.size()) {
    values_ = std::move(values);
    values_.shrink_to_fit();
    move_to(values_.data());
    memory_.written_by_host(values_.data(), bytes_);
  }
  /// Never written.
  Array(DeviceMemory& memory, const std::string& name, size_t size)
      : memory_(memory), values_(size), bytes_(size * sizeof(T)), name_(name) {
    memory_.add(values_.data(), bytes_, name_);
    at_ = values_.data();
  }
  ~Array() { memory_.remove(at_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() { return values_.data(); }
  const std::vector<T>& values() const { return values_; }
  /// As copied back to the host: all of it was written.
  std::vector<T> read() const {
    memory_.read_by_host(values_.data(), bytes_);
    return values_;
  }

 private:
  void move_to(T* to) {
    memory_.remove(at_);
    memory_.add(to, bytes_, name_);
    at_ = to;
  }

  DeviceMemory& memory_;
  std::vector<T> values_;
  size_t bytes_;
  std::string name_;
  T* at_ = nullptr;
};

inline Launch launch_of(unsigned blocks, unsigned threads, uint64_t seed = 0) {
  Launch launch;
  launch.grid[0] = blocks;
  launch.block[0] = threads;
  launch.seed = seed;
  return launch;
}

/// Runs the first kernel of the module with these arguments.
template <typename... Arguments>
void run_kernel(const Module& module, Launch launch, DeviceMemory& memory, Arguments... arguments) {
  const void* pointers[] = {static_cast<const void*>(&arguments)..., nullptr};
  launch.parameters = pointers;
  run(*module.find(module.kernels().at(0)), launch, memory);
}

/// The text with the first `from` exchanged for `to`; "" if there is none.
inline std::string exchanged(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
}

/// A kernel of up to 1024 threads with this body.
inline std::string kernel_text(const std::string& parameters, const std::string& body) {
  return "extern \"C\" __global__ void __launch_bounds__(1024) tested(" + parameters + ") {\n" +
         body + "\n}\n";
}

}  // namespace graphc::core::cuda_emulator
