// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/stream.h"

#include <fmt/format.h>

#include <array>

namespace graphc::core::cuda {
namespace {

void check_bytes(CUresult result, std::string_view call, size_t bytes, std::string_view what) {
  if (result == CUDA_SUCCESS) return;
  check(result, call, fmt::format("{} of {}", in_bytes(bytes), what));
}

std::string words(const Kernel& kernel, const LaunchShape& shape) {
  const auto& [grid, block, dynamic_shared, cooperative, cluster] = shape;
  std::string text = fmt::format("{}, {}x{}x{} blocks of {}x{}x{} threads", kernel.name(), grid[0],
                                 grid[1], grid[2], block[0], block[1], block[2]);
  if (dynamic_shared > 0) text += fmt::format(", {} shared", in_bytes(dynamic_shared));
  if (cooperative) text += ", cooperative";
  if (cluster > 1) text += fmt::format(", clusters of {}", cluster);
  return text;
}

}  // namespace

Event::Event(const DevicePtr& device, Timing timing) {
  device->make_current();
  CUevent event = nullptr;
  const unsigned flags = timing == Timing::none ? CU_EVENT_DISABLE_TIMING : CU_EVENT_DEFAULT;
  check(driver().cuEventCreate(&event, flags), "cuEventCreate");
  event_ = Owned<CUevent>(device, event, driver().cuEventDestroy);
}

void Event::record(const Stream& stream) const {
  check(driver().cuEventRecord(event_.get(), stream.get()), "cuEventRecord");
}

void Event::synchronize() const {
  check(driver().cuEventSynchronize(event_.get()), "cuEventSynchronize");
}

float Event::milliseconds_since(const Event& begin) const {
  float milliseconds = 0;
  check(driver().cuEventElapsedTime(&milliseconds, begin.event_.get(), event_.get()),
        "cuEventElapsedTime");
  return milliseconds;
}

void GraphExec::launch(const Stream& stream) const {
  check(driver().cuGraphLaunch(executable_.get(), stream.get()), "cuGraphLaunch");
}

Stream::Stream(const DevicePtr& device) {
  device->make_current();
  CUstream stream = nullptr;
  check(driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
        "cuStreamCreateWithPriority");
  stream_ = Owned<CUstream>(device, stream, driver().cuStreamDestroy);
}

Stream Stream::borrowed(const DevicePtr& device, uint64_t stream) {
  device->make_current();
  constexpr auto kKept = [](CUstream) { return CUDA_SUCCESS; };
  return Stream(Owned<CUstream>(device, reinterpret_cast<CUstream>(stream), kKept));
}

void Stream::copy_to_device(CUdeviceptr to, const void* from, size_t bytes,
                            std::string_view what) const {
  if (bytes == 0) return;
  check_bytes(driver().cuMemcpyHtoDAsync(to, from, bytes, get()), "cuMemcpyHtoDAsync", bytes, what);
}

void Stream::copy_to_host(void* to, CUdeviceptr from, size_t bytes, std::string_view what) const {
  if (bytes == 0) return;
  check_bytes(driver().cuMemcpyDtoHAsync(to, from, bytes, get()), "cuMemcpyDtoHAsync", bytes, what);
}

void Stream::copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, std::string_view what) const {
  if (bytes == 0) return;
  check_bytes(driver().cuMemcpyDtoDAsync(to, from, bytes, get()), "cuMemcpyDtoDAsync", bytes, what);
}

void Stream::fill(CUdeviceptr to, unsigned char value, size_t bytes, std::string_view what) const {
  if (bytes == 0) return;
  check_bytes(driver().cuMemsetD8Async(to, value, bytes, get()), "cuMemsetD8Async", bytes, what);
}

void Stream::launch(const Kernel& kernel, const LaunchShape& shape, void** parameters) const {
  const auto& [grid, block, dynamic_shared, cooperative, cluster] = shape;
  if (!cooperative && cluster == 1) {
    if (const CUresult error = driver().cuLaunchKernel(
            kernel.function(), grid[0], grid[1], grid[2], block[0], block[1], block[2],
            unsigned(dynamic_shared), get(), parameters, nullptr)) {
      check(error, "cuLaunchKernel", words(kernel, shape));
    }
    return;
  }
  std::array<CUlaunchAttribute, 2> attributes{};
  unsigned count = 0;
  if (cooperative) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[count++].value.cooperative = 1;
  }
  if (cluster > 1) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[count++].value.clusterDim = {cluster, 1, 1};
  }
  const CUlaunchConfig config{
      grid[0], grid[1],           grid[2], block[0], block[1], block[2], unsigned(dynamic_shared),
      get(),   attributes.data(), count};
  if (const CUresult error =
          driver().cuLaunchKernelEx(&config, kernel.function(), parameters, nullptr)) {
    check(error, "cuLaunchKernelEx", words(kernel, shape));
  }
}

void Stream::wait(const Event& event) const {
  check(driver().cuStreamWaitEvent(get(), event.event_.get(), CU_EVENT_WAIT_DEFAULT),
        "cuStreamWaitEvent");
}

bool Stream::is_captured() const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver().cuStreamIsCapturing(get(), &status), "cuStreamIsCapturing");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void Stream::synchronize(std::string_view what) const {
  if (const CUresult error = driver().cuStreamSynchronize(get())) {
    check(error, "cuStreamSynchronize", what);
  }
}

GraphExec Stream::capture(const std::function<void()>& record) const {
  // Only this thread's calls can invalidate the capture: other libraries may allocate on theirs.
  check(driver().cuStreamBeginCapture(get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  try {
    record();
  } catch (...) {
    driver().cuStreamEndCapture(get(), &graph);
    if (graph != nullptr) driver().cuGraphDestroy(graph);
    throw;
  }
  const CUresult ended = driver().cuStreamEndCapture(get(), &graph);
  const Owned<CUgraph> owned(device(), graph, driver().cuGraphDestroy);
  check(ended, "cuStreamEndCapture");
  CUgraphExec executable = nullptr;
  check(driver().cuGraphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
  return GraphExec(Owned<CUgraphExec>(device(), executable, driver().cuGraphExecDestroy));
}

}  // namespace graphc::core::cuda
