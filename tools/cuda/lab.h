// SPDX-License-Identifier: Apache-2.0
// A GPU on which short kernels are timed, through the same loader as compiled graphs.
#pragma once

#include <functional>
#include <initializer_list>
#include <list>
#include <string>

#include "runtime/cuda/stream.h"
#include "tools/bench/statistics.h"

namespace graphc::core::probe {

class Lab {
 public:
  /// `quick`: sizes for an emulator, where timings have no meaning.
  explicit Lab(bool quick);

  bool quick() const { return quick_; }
  /// `full`, or `small` for quick runs.
  int64_t size(int64_t full, int64_t small) const { return quick_ ? small : full; }
  const cuda::DeviceProperties& properties() const { return device_->properties(); }
  std::string architecture() const { return device_->architecture(); }
  unsigned multiprocessors() const { return unsigned(properties().multiprocessors); }
  const cuda::DevicePtr& device() const { return device_; }
  const cuda::Stream& stream() const { return stream_; }

  /// Compiles a text and loads the kernel with that name.
  cuda::Kernel kernel(const std::string& text, const std::string& name);
  /// Zeroed memory for a probe.
  cuda::DeviceBuffer zeros(int64_t bytes, std::string_view what) const;
  /// Enqueues a launch. An argument is an address, a long long, or the bits of a float.
  void launch(const cuda::Kernel& kernel, unsigned blocks,
              std::initializer_list<uint64_t> arguments, bool together = false) const;

  /// The seconds that the work enqueued by `work` takes, measured with two events, after one
  /// warm-up.
  bench::Summary seconds(const std::function<void()>& work) const;

 private:
  cuda::DevicePtr device_;
  cuda::Stream stream_;
  bool quick_;
  std::list<cuda::Module> modules_;
};

}  // namespace graphc::core::probe
