// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/stream.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/runtime/cuda/scale.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::cuda::testing {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The error that a function throws, notes and all.
template <typename Function>
std::string whole_error(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "wanted an error, found none";
  return "";
}

Module scale_module(const DevicePtr& device) {
  return {device, compile_text(kScale, "scale.cu", device->architecture()).image, "scale.cu"};
}

TEST(CudaDevice, IsOpened) {
  const MockDriver mock;
  EXPECT_TRUE(driver_present());
  EXPECT_EQ(Device::count(), 1);
  {
    const DevicePtr device = Device::open();
    EXPECT_EQ(device->ordinal(), 0);
    const DeviceProperties& properties = device->properties();
    EXPECT_EQ(properties.name, "graphc's emulator of an sm_90");
    EXPECT_EQ(properties.major, 9);
    EXPECT_EQ(properties.minor, 0);
    EXPECT_EQ(properties.multiprocessors, 132);
    EXPECT_EQ(properties.warp_size, 32);
    EXPECT_EQ(properties.max_threads_per_block, 1024);
    EXPECT_EQ(properties.max_threads_per_multiprocessor, 2048);
    EXPECT_EQ(properties.max_blocks_per_multiprocessor, 32);
    EXPECT_EQ(properties.registers_per_multiprocessor, 65536);
    EXPECT_EQ(properties.shared_per_block, 48u * 1024);
    EXPECT_EQ(properties.shared_per_block_optin, 227u * 1024);
    EXPECT_EQ(properties.shared_per_multiprocessor, 228u * 1024);
    EXPECT_EQ(properties.l2_bytes, 50u << 20);
    EXPECT_EQ(properties.memory_bytes, size_t{64} << 20);
    EXPECT_TRUE(properties.cooperative_launch);
    EXPECT_TRUE(properties.cluster_launch);
    EXPECT_EQ(device->architecture(), "sm_90a");
    EXPECT_EQ(device->free_memory(), properties.memory_bytes);
    EXPECT_EQ(mock.live_text(), "1 context");
  }
  EXPECT_EQ(mock.live(), 0u);
}

TEST(CudaDevice, ThatIsNotThereIsAnError) {
  const MockDriver mock;
  EXPECT_EQ(error_of(ErrorKind::resource, [] { Device::open(1); }), "no GPU 1: there is 1");
  EXPECT_EQ(error_of(ErrorKind::resource, [] { Device::open(-1); }), "no GPU -1: there is 1");
}

TEST(CudaDevice, ErrorsSayWhoseFaultTheyAre) {
  const MockDriver mock;
  const auto fails = [](ErrorKind kind, CUresult result) {
    return error_of(kind, [&] { check(result, "cuCall", "2 things"); });
  };
  check(CUDA_SUCCESS, "cuCall", "");
  EXPECT_EQ(fails(ErrorKind::resource, CUDA_ERROR_OUT_OF_MEMORY),
            "cuCall (2 things): out of memory");
  EXPECT_EQ(fails(ErrorKind::internal, CUDA_ERROR_INVALID_VALUE),
            "cuCall (2 things): invalid argument");
  EXPECT_EQ(fails(ErrorKind::internal, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD),
            "cuCall (2 things): attempt to terminate a thread-local capture sequence from another "
            "thread");
  EXPECT_EQ(fails(ErrorKind::resource, CUDA_ERROR_UNKNOWN), "cuCall (2 things): unknown error");
  EXPECT_EQ(fails(ErrorKind::resource, CUresult(12345)), "cuCall (2 things): error 12345");
  EXPECT_EQ(error_of(ErrorKind::resource, [] { check(CUDA_ERROR_UNKNOWN, "cuCall"); }),
            "cuCall: unknown error");
}

TEST(CudaDevice, BytesAreReadable) {
  EXPECT_EQ(in_bytes(0), "0 bytes");
  EXPECT_EQ(in_bytes(1), "1 byte");
  EXPECT_EQ(in_bytes(1023), "1023 bytes");
  EXPECT_EQ(in_bytes(1536), "1.5 KiB");
  EXPECT_EQ(in_bytes((size_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(in_bytes(size_t{2} << 30), "2.0 GiB");
  EXPECT_EQ(in_bytes(size_t{3} << 50), "3072.0 TiB");
}

TEST(CudaDevice, MemoryIsGivenBack) {
  const MockDriver mock;
  const DevicePtr device = Device::open();
  {
    DeviceBuffer buffer(device, 1000, "weights");
    PinnedBuffer pinned(device, 2000, "inputs");
    EXPECT_EQ(buffer.bytes(), 1000u);
    EXPECT_EQ(buffer.address() % 256, 0u);
    EXPECT_NE(pinned.data(), nullptr);
    EXPECT_EQ(mock.live_text(), "1 allocation, 1 host allocation, 1 context");
    DeviceBuffer other = std::move(buffer);
    EXPECT_EQ(buffer.address(), 0u);
    other = DeviceBuffer(device, 10, "more");
    EXPECT_EQ(mock.live_text(), "1 allocation, 1 host allocation, 1 context");
  }
  EXPECT_EQ(mock.live_text(), "1 context");
  const DeviceBuffer nothing(device, 0, "nothing");
  const PinnedBuffer none(device, 0, "nothing");
  EXPECT_EQ(nothing.address(), 0u);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(mock.calls("cuMemAlloc_v2"), 2u);
}

TEST(CudaDevice, TooLittleMemorySaysForWhatAndWhatIsFree) {
  const MockDriver mock;
  const DevicePtr device = Device::open();
  const DeviceBuffer held(device, size_t{16} << 20, "held");
  EXPECT_EQ(whole_error([&] { DeviceBuffer(device, size_t{5} << 30, "the arena"); }),
            "error: cuMemAlloc (5.0 GiB for the arena): out of memory\n"
            "  note: 48.0 MiB of 64.0 MiB are free on the graphc's emulator of an sm_90");
  mock.fail("cuMemHostAlloc", CUDA_ERROR_OUT_OF_MEMORY, 1);
  EXPECT_EQ(error_of(ErrorKind::resource, [&] { PinnedBuffer(device, 4096, "inputs"); }),
            "cuMemHostAlloc (4.0 KiB for inputs): out of memory");
}

TEST(CudaDevice, ThingsOutliveTheirDevice) {
  const MockDriver mock;
  {
    DeviceBuffer buffer;
    {
      const DevicePtr device = Device::open();
      buffer = DeviceBuffer(device, 64, "kept");
    }
    EXPECT_EQ(mock.live_text(), "1 allocation, 1 context");
  }
  EXPECT_EQ(mock.live(), 0u);
}

TEST(CudaDevice, KernelsSayWhatTheyNeed) {
  const MockDriver mock;
  const DevicePtr device = Device::open();
  const Module module = scale_module(device);
  const Kernel kernel = module.kernel("scale");
  EXPECT_EQ(kernel.name(), "scale");
  EXPECT_EQ(kernel.max_threads(), 128);
  EXPECT_EQ(kernel.shared_bytes(), 0);
  EXPECT_EQ(kernel.local_bytes(), 0);
  EXPECT_GT(kernel.registers(), 0);
  EXPECT_EQ(kernel.resident_blocks(128, 0), 16);
  EXPECT_EQ(kernel.resident_blocks(1, 0), 32);
  EXPECT_EQ(kernel.resident_blocks(128, 100 * 1024), 0);
  kernel.allow_dynamic_shared(100 * 1024);
  EXPECT_EQ(kernel.resident_blocks(128, 100 * 1024), 2);
  EXPECT_EQ(error_of(ErrorKind::internal, [&] { kernel.allow_dynamic_shared(300 * 1024); }),
            "cuFuncSetAttribute (300.0 KiB of dynamic shared memory for scale): invalid argument: "
            "more shared memory than 232448 bytes");
}

TEST(CudaDevice, ModulesThatCannotBeLoadedSayWhy) {
  const MockDriver mock;
  const DevicePtr device = Device::open();
  const std::string error = whole_error([&] { Module(device, "int;", "bad.cu"); });
  EXPECT_THAT(error,
              HasSubstr("error: cuModuleLoadDataEx (bad.cu): device kernel image is invalid\n"));
  EXPECT_THAT(error, HasSubstr("note: image:1:1: error: found 'int'"));
  EXPECT_THAT(error, HasSubstr("note: the driver is of CUDA 13.0, NVRTC of 13.0"));
  EXPECT_EQ(error_of(ErrorKind::internal, [&] { scale_module(device).kernel("other"); }),
            "cuModuleGetFunction (other of scale.cu): named symbol not found");
}

TEST(CudaDevice, KernelsRun) {
  const MockDriver mock;
  const DevicePtr device = Device::open();
  const Module module = scale_module(device);
  const Kernel kernel = module.kernel("scale");
  const Stream stream(device);
  const std::vector<float> x{1, 2, 3, 4, 5};
  std::vector<float> y(5);
  const size_t bytes = 5 * sizeof(float);
  const DeviceBuffer from(device, bytes, "x"), to(device, bytes, "y"), copy(device, bytes, "z");
  stream.copy_to_device(from.address(), x.data(), bytes, "x");
  CUdeviceptr x_address = from.address(), y_address = to.address();
  float factor = 3;
  int count = 5;
  void* parameters[] = {&x_address, &y_address, &factor, &count};
  for (const auto& [cooperative, cluster] :
       {std::pair{false, 1u}, std::pair{true, 1u}, std::pair{false, 3u}, std::pair{true, 3u}}) {
    stream.fill(to.address(), 0, bytes, "y");
    stream.launch(kernel, {{3, 1, 1}, {2, 1, 1}, 0, cooperative, cluster}, parameters);
    stream.copy(copy.address(), to.address(), bytes, "y");
    stream.copy_to_host(y.data(), copy.address(), bytes, "y");
    stream.synchronize("a step");
    EXPECT_THAT(y, ElementsAre(3, 6, 9, 12, 15));
    factor = 3;
  }
  EXPECT_EQ(mock.calls("cuLaunchKernel"), 1u);
  EXPECT_EQ(mock.calls("cuLaunchKernelEx"), 3u);
}

TEST(CudaDevice, WhatGoesWrongInALaunchIsSaid) {
  const MockDriver mock;
  const DevicePtr device = Device::open();
  const Module module = scale_module(device);
  const Kernel kernel = module.kernel("scale");
  const Stream stream(device);
  const DeviceBuffer from(device, 16, "x"), to(device, 16, "y");
  stream.fill(from.address(), 0, 16, "x");
  CUdeviceptr x_address = from.address(), y_address = to.address();
  float factor = 3;
  int count = 5;
  void* parameters[] = {&x_address, &y_address, &factor, &count};
  const auto launch = [&](const LaunchShape& shape) {
    return error_of(ErrorKind::internal, [&] { stream.launch(kernel, shape, parameters); });
  };
  // The fifth element lies outside of both buffers.
  EXPECT_THAT(launch({{1, 1, 1}, {8, 1, 1}}),
              HasSubstr("cuLaunchKernel (scale, 1x1x1 blocks of 8x1x1 threads): unspecified launch "
                        "failure: scale, line 6, block (0,0,0) thread (4,0,0): "));
  EXPECT_EQ(launch({{1, 1, 1}, {129, 1, 1}}),
            "cuLaunchKernel (scale, 1x1x1 blocks of 129x1x1 threads): invalid argument: 129 "
            "threads a block where scale has 128");
  EXPECT_EQ(launch({{0, 1, 1}, {8, 1, 1}}),
            "cuLaunchKernel (scale, 0x1x1 blocks of 8x1x1 threads): invalid argument: the grid's "
            "extents");
  EXPECT_EQ(launch({{1, 1, 1}, {8, 1, 1}, 50000, false}),
            "cuLaunchKernel (scale, 1x1x1 blocks of 8x1x1 threads, 48.8 KiB shared): invalid "
            "argument: 50000 bytes of dynamic shared memory where scale has 49152");
  EXPECT_EQ(launch({{9999, 1, 1}, {128, 1, 1}, 0, true}),
            "cuLaunchKernelEx (scale, 9999x1x1 blocks of 128x1x1 threads, cooperative): too many "
            "blocks in cooperative launch: 9999 blocks where 2112 are resident");
  EXPECT_EQ(launch({{3, 1, 1}, {8, 1, 1}, 0, false, 2}),
            "cuLaunchKernelEx (scale, 3x1x1 blocks of 8x1x1 threads, clusters of 2): cluster "
            "misconfiguration: 3 blocks along x in clusters of 2");
  EXPECT_EQ(launch({{16, 1, 1}, {8, 1, 1}, 0, false, 16}),
            "cuLaunchKernelEx (scale, 16x1x1 blocks of 8x1x1 threads, clusters of 16): cluster "
            "misconfiguration: clusters of 16 blocks where scale has 8");
  std::vector<float> y(4);
  EXPECT_THAT(
      error_of(ErrorKind::internal, [&] { stream.copy_to_host(y.data(), y_address + 8, 16, "y"); }),
      HasSubstr("cuMemcpyDtoHAsync (16 bytes of y): invalid argument: "));
}

TEST(CudaDevice, GraphsAreLaunchedAgain) {
  const MockDriver mock;
  const DevicePtr device = Device::open();
  const Module module = scale_module(device);
  const Kernel kernel = module.kernel("scale");
  const Stream stream(device);
  const DeviceBuffer buffer(device, 16, "x");
  std::vector<float> x{1, 2, 3, 4};
  stream.copy_to_device(buffer.address(), x.data(), 16, "x");
  const GraphExec graph = stream.capture([&] {
    CUdeviceptr address = buffer.address();
    float factor = 2;
    int count = 4;
    void* parameters[] = {&address, &address, &factor, &count};
    stream.launch(kernel, {{1, 1, 1}, {4, 1, 1}}, parameters);
    address = 0;  // the values were read
    factor = 100;
  });
  EXPECT_TRUE(bool(graph));
  const auto now = [&] {
    stream.copy_to_host(x.data(), buffer.address(), 16, "x");
    stream.synchronize("a copy");
    return x;
  };
  EXPECT_THAT(now(), ElementsAre(1, 2, 3, 4));
  graph.launch(stream);
  EXPECT_THAT(now(), ElementsAre(2, 4, 6, 8));
  graph.launch(stream);
  EXPECT_THAT(now(), ElementsAre(4, 8, 12, 16));
}

TEST(CudaDevice, ACaptureThatFailsLeavesTheStreamAsItWas) {
  const MockDriver mock;
  const DevicePtr device = Device::open();
  const Stream stream(device);
  const DeviceBuffer buffer(device, 4, "x");
  EXPECT_EQ(error_of(ErrorKind::check,
                     [&] {
                       stream.capture([&] {
                         stream.fill(buffer.address(), 1, 4, "x");
                         throw Error(ErrorKind::check, {}, "enough");
                       });
                     }),
            "enough");
  EXPECT_EQ(mock.live_text(), "1 allocation, 1 stream, 1 context");
  const std::string error = error_of(ErrorKind::internal, [&] {
    stream.capture([&] { stream.synchronize("what is only captured"); });
  });
  EXPECT_EQ(error,
            "cuStreamSynchronize (what is only captured): operation not permitted when stream is "
            "capturing: waiting for what is not run");
  stream.fill(buffer.address(), 1, 4, "x");
  int x = 0;
  stream.copy_to_host(&x, buffer.address(), 4, "x");
  stream.synchronize("a copy");
  EXPECT_EQ(x, 0x01010101);
}

TEST(CudaDevice, EventsMeasure) {
  const MockDriver mock;
  const DevicePtr device = Device::open();
  const Stream stream(device);
  const Event begin(device), end(device);
  begin.record(stream);
  end.record(stream);
  end.synchronize();
  EXPECT_GE(end.milliseconds_since(begin), 0);
  EXPECT_EQ(error_of(ErrorKind::internal, [&] { end.milliseconds_since(Event(device)); }),
            "cuEventElapsedTime: invalid resource handle: an event that has no time");
}

}  // namespace
}  // namespace graphc::core::cuda::testing
