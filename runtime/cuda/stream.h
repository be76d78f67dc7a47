// SPDX-License-Identifier: Apache-2.0
// Work for a device, in order: copies, launches, and graphs of them.
#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "runtime/cuda/device.h"

namespace graphc::core::cuda {

/// How a kernel is launched.
struct LaunchShape {
  std::array<unsigned, 3> grid{1, 1, 1};   ///< blocks
  std::array<unsigned, 3> block{1, 1, 1};  ///< threads of a block
  size_t dynamic_shared = 0;               ///< bytes
  bool cooperative = false;                ///< all blocks at a time, so that they may wait
  unsigned cluster = 1;                    ///< blocks of a cluster, beside each other along x
};

class Stream;

/// A point in a stream's work that can be waited for and measured.
class Event {
 public:
  /// Whether the time is noted when it is reached. Without, waiting costs less.
  enum class Timing : uint8_t { none, noted };
  explicit Event(const DevicePtr& device, Timing timing = Timing::noted);
  void record(const Stream& stream) const;
  void synchronize() const;
  /// Milliseconds from `begin` to this; both have been reached.
  float milliseconds_since(const Event& begin) const;

 private:
  friend class Stream;
  Owned<CUevent> event_;
};

/// Captured work, ready to be launched as often as wanted. What the work reads and writes must
/// outlive it; its launches' parameters are kept in it.
class GraphExec {
 public:
  GraphExec() = default;
  explicit operator bool() const { return executable_.get() != nullptr; }
  void launch(const Stream& stream) const;

 private:
  friend class Stream;
  explicit GraphExec(Owned<CUgraphExec> executable) : executable_(std::move(executable)) {}

  Owned<CUgraphExec> executable_;
};

/// A queue of work of a device. One thread uses it at a time.
class Stream {
 public:
  /// It waits for no other stream, the default stream included.
  explicit Stream(const DevicePtr& device);

  CUstream get() const { return stream_.get(); }
  const DevicePtr& device() const { return stream_.device(); }

  /// Each puts work into the stream and returns. `what` says in errors what the bytes are:
  /// "weights". No bytes are no work.
  void copy_to_device(CUdeviceptr to, const void* from, size_t bytes, std::string_view what) const;
  void copy_to_host(void* to, CUdeviceptr from, size_t bytes, std::string_view what) const;
  void copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, std::string_view what) const;
  void fill(CUdeviceptr to, unsigned char value, size_t bytes, std::string_view what) const;
  /// `parameters` points to one pointer for each of the kernel's parameters; they are read before
  /// this returns.
  void launch(const Kernel& kernel, const LaunchShape& shape, void** parameters) const;

  /// What is put into this stream from now on comes after what the event was recorded behind. When
  /// that is being captured, this stream joins the capture, and has to be waited for by the stream
  /// that it began in before it ends.
  void wait(const Event& event) const;

  /// Waits until all work is done. What went wrong in it is thrown here; `what` says what was
  /// waited for: "a step".
  void synchronize(std::string_view what) const;

  /// What `record` puts into this stream, not run but made into a graph. When `record` throws,
  /// nothing is kept and the stream is as before.
  GraphExec capture(const std::function<void()>& record) const;

 private:
  Owned<CUstream> stream_;
};

}  // namespace graphc::core::cuda
