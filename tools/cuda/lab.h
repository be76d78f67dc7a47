// SPDX-License-Identifier: Apache-2.0
// A GPU on which short kernels are timed, through the loader that compiled graphs use.
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
  /// `quick`: sizes for an emulator, whose figures mean nothing.
  explicit Lab(bool quick);

  bool quick() const { return quick_; }
  /// `full`, or `small` where everything is to be small.
  int64_t size(int64_t full, int64_t small) const { return quick_ ? small : full; }
  const cuda::DeviceProperties& properties() const { return device_->properties(); }
  std::string architecture() const { return device_->architecture(); }
  unsigned multiprocessors() const { return unsigned(properties().multiprocessors); }
  const cuda::DevicePtr& device() const { return device_; }
  const cuda::Stream& stream() const { return stream_; }

  /// Compiles a text and loads the kernel of that name.
  cuda::Kernel kernel(const std::string& text, const std::string& name);
  /// Memory for a probe, all bytes 0.
  cuda::DeviceBuffer zeros(int64_t bytes, std::string_view what) const;
  /// Puts a launch into the stream. An argument is an address or a long long, or the bits of a
  /// float.
  void launch(const cuda::Kernel& kernel, unsigned blocks,
              std::initializer_list<uint64_t> arguments, bool together = false) const;

  /// Seconds that what `work` puts into the stream takes there, between two events; after once
  /// without a clock.
  bench::Summary seconds(const std::function<void()>& work) const;

 private:
  cuda::DevicePtr device_;
  cuda::Stream stream_;
  bool quick_;
  std::list<cuda::Module> modules_;
};

}  // namespace graphc::core::probe
