// SPDX-License-Identifier: Apache-2.0
// Device work in order: copies, launches, and graphs of them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "runtime/cuda/device.h"

namespace graphc::core::cuda {

/// Launch parameters of a kernel.
struct LaunchShape {
  std::array<unsigned, 3> grid{1, 1, 1};   ///< blocks
  std::array<unsigned, 3> block{1, 1, 1};  ///< threads per block
  size_t dynamic_shared = 0;               ///< bytes
  bool cooperative = false;                ///< all blocks resident at once, so they may wait
  unsigned cluster = 1;                    ///< blocks per cluster, adjacent along x
};

class Stream;

/// A point in a stream's work, for waiting and timing.
class Event {
 public:
  /// Whether to record the time. Without it, waiting is cheaper.
  enum class Timing : uint8_t { none, noted };
  explicit Event(const DevicePtr& device, Timing timing = Timing::noted);
  void record(const Stream& stream) const;
  void synchronize() const;
  /// Milliseconds from `begin` to this event; both must have been reached.
  float milliseconds_since(const Event& begin) const;

 private:
  friend class Stream;
  Owned<CUevent> event_;
};

/// Captured work that can be launched repeatedly. The memory it reads and writes must outlive it;
/// the parameters of its launches are stored in it.
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

/// A work queue of a device. Used by one thread at a time.
class Stream {
 public:
  /// It does not synchronise with any other stream, the default stream included.
  explicit Stream(const DevicePtr& device);
  /// A stream of another library, which outlives this: the value of its CUstream. Makes the device
  /// current.
  static Stream borrowed(const DevicePtr& device, uint64_t stream);

  CUstream get() const { return stream_.get(); }
  const DevicePtr& device() const { return stream_.device(); }

  /// Each enqueues work and returns. `what` describes the bytes in errors: "weights". 0 bytes
  /// enqueue nothing.
  void copy_to_device(CUdeviceptr to, const void* from, size_t bytes, std::string_view what) const;
  void copy_to_host(void* to, CUdeviceptr from, size_t bytes, std::string_view what) const;
  void copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, std::string_view what) const;
  void fill(CUdeviceptr to, unsigned char value, size_t bytes, std::string_view what) const;
  /// `parameters` points to one pointer per kernel parameter; they are read before this returns.
  void launch(const Kernel& kernel, const LaunchShape& shape, void** parameters) const;

  /// Makes further work in this stream wait for the event. If the event's stream is being captured,
  /// this stream joins the capture and must be joined back by the capturing stream before the
  /// capture ends.
  void wait(const Event& event) const;

  /// Whether its work is being captured as a graph, by anyone.
  bool is_captured() const;

  /// Waits until all work is done. Throws the errors of that work; `what` says what was waited for:
  /// "a step".
  void synchronize(std::string_view what) const;

  /// Captures the work that `record` enqueues as a graph, without running it. If `record` throws,
  /// nothing is kept and the stream is unchanged.
  GraphExec capture(const std::function<void()>& record) const;

 private:
  explicit Stream(Owned<CUstream> stream) : stream_(std::move(stream)) {}

  Owned<CUstream> stream_;
};

}  // namespace graphc::core::cuda
