// SPDX-License-Identifier: Apache-2.0
// The mock refuses what the driver's documentation says a driver refuses: what passes with it has
// asked nothing of a GPU that it must not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "runtime/cuda/nvrtc_functions.h"
#include "tests/cuda/mock/calls.h"
#include "tests/runtime/cuda/scale.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::cuda::testing {
namespace {

using ::testing::StartsWith;

TEST_F(MockCalls, Errors) {
  const char* words = nullptr;
  ok(d.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &words));
  EXPECT_STREQ(words, "CUDA_ERROR_OUT_OF_MEMORY");
  invalid(d.cuGetErrorName(CUresult(4711), &words));
  EXPECT_EQ(words, nullptr);
  invalid(d.cuGetErrorString(CUresult(4711), &words));
  invalid(d.cuGetErrorString(CUDA_SUCCESS, nullptr));
}

TEST_F(MockCalls, Devices) {
  int value = 0;
  char name[4];
  size_t bytes = 0;
  invalid(d.cuInit(1), "flags");
  invalid(d.cuDeviceGetCount(nullptr));
  refused(d.cuDeviceGet(&value, 1), CUDA_ERROR_INVALID_DEVICE);
  invalid(d.cuDeviceGetName(name, 0, 0));
  ok(d.cuDeviceGetName(name, 4, 0));
  EXPECT_STREQ(name, "gra");
  invalid(d.cuDeviceGetAttribute(&value, CUdevice_attribute(9999), 0));
  refused(d.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1),
          CUDA_ERROR_INVALID_DEVICE);
  refused(d.cuDeviceTotalMem(&bytes, 1), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(MockCalls, Contexts) {
  CUcontext current = nullptr;
  ok(d.cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context);
  refused(d.cuCtxSetCurrent(reinterpret_cast<CUcontext>(&current)), CUDA_ERROR_INVALID_CONTEXT);
  // A context is current to a thread, not to a process.
  std::thread([&] {
    size_t free = 0, total = 0;
    refused(d.cuMemGetInfo(&free, &total), CUDA_ERROR_INVALID_CONTEXT);
    refused(d.cuMemFree(memory), CUDA_ERROR_INVALID_CONTEXT);
    refused(launch(1, 1), CUDA_ERROR_INVALID_CONTEXT);
    ok(d.cuCtxGetCurrent(&current));
    EXPECT_EQ(current, nullptr);
  }).join();
  ok(d.cuCtxSetCurrent(nullptr));
  refused(d.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_CONTEXT);
  ok(d.cuCtxSetCurrent(context));
}

TEST_F(MockCalls, Memory) {
  CUdeviceptr address = 0;
  void* host = nullptr;
  int x[16] = {};
  invalid(d.cuMemAlloc(&address, 0));
  invalid(d.cuMemAlloc(nullptr, 1));
  refused(d.cuMemAlloc(&address, size_t{1} << 40), CUDA_ERROR_OUT_OF_MEMORY);
  invalid(d.cuMemFree(memory + 4), "no allocation begins there");
  invalid(d.cuMemHostAlloc(&host, 0, 0));
  invalid(d.cuMemHostAlloc(&host, 8, 8));
  invalid(d.cuMemFreeHost(x));
  invalid(d.cuMemcpyHtoDAsync(memory, nullptr, 4, stream), "from a null pointer");
  invalid(d.cuMemcpyHtoDAsync(memory + 4, x, 64, stream));
  invalid(d.cuMemcpyHtoDAsync(4096, x, 4, stream));
  invalid(d.cuMemcpyDtoHAsync(x, memory, 64, stream));  // never written
  ok(d.cuMemcpyHtoDAsync(memory, x, 32, stream));
  ok(d.cuMemcpyDtoHAsync(x, memory, 32, stream));
  invalid(d.cuMemcpyDtoHAsync(x, memory, 33, stream));
  invalid(d.cuMemcpyDtoHAsync(nullptr, memory, 4, stream));
  invalid(d.cuMemcpyDtoDAsync(memory, memory + 4, 8, stream), "overlap");
  ok(d.cuMemcpyDtoDAsync(memory + 32, memory, 32, stream));
  ok(d.cuMemcpyDtoHAsync(x, memory, 64, stream));
  invalid(d.cuMemsetD8Async(memory, 0, 65, stream));
  CUstream none = reinterpret_cast<CUstream>(&x);
  refused(d.cuMemsetD8Async(memory, 0, 64, none), CUDA_ERROR_INVALID_HANDLE, "no such stream");
}

TEST_F(MockCalls, Modules) {
  CUmodule other = nullptr;
  CUfunction found = nullptr;
  int value = 0;
  invalid(d.cuModuleLoadDataEx(&other, nullptr, 0, nullptr, nullptr));
  invalid(d.cuModuleLoadDataEx(&other, "", 1, nullptr, nullptr));
  char log[64] = {};
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  refused(d.cuModuleLoadDataEx(&other,
                               "\x7f"
                               "ELF",
                               2, names, values),
          CUDA_ERROR_INVALID_IMAGE);
  EXPECT_THAT(log, StartsWith("image:1:1"));
  refused(d.cuModuleGetFunction(&found, module, "other"), CUDA_ERROR_NOT_FOUND);
  refused(d.cuModuleGetFunction(&found, other, "scale"), CUDA_ERROR_INVALID_HANDLE);
  refused(d.cuModuleUnload(reinterpret_cast<CUmodule>(stream)), CUDA_ERROR_INVALID_HANDLE);
  invalid(d.cuFuncGetAttribute(&value, CUfunction_attribute(99), function));
  invalid(d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 16));
  invalid(d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
  invalid(d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 0, 0));
  // A function goes with its module.
  ok(d.cuModuleLoadDataEx(&other, kScale.c_str(), 0, nullptr, nullptr));
  ok(d.cuModuleGetFunction(&found, other, "scale"));
  ok(d.cuModuleUnload(other));
  refused(d.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, found),
          CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(MockCalls, Launches) {
  ok(launch(1, 1));
  invalid(launch(0, 1), "the grid's extents");
  invalid(launch(1, 0), "the block's extents");
  invalid(launch(1, 2000), "the block's extents");
  invalid(d.cuLaunchKernel(function, 1, 1, 1, 1, 1, 65, 0, stream, parameters, nullptr),
          "the block's extents");
  invalid(d.cuLaunchKernel(function, 1, 65536, 1, 1, 1, 1, 0, stream, parameters, nullptr),
          "the grid's extents");
  invalid(d.cuLaunchKernel(function, 1, 1, 1, 16, 16, 1, 0, stream, parameters, nullptr),
          "256 threads a block where scale has 128");
  invalid(launch(1, 1, 49153), "dynamic shared memory");
  invalid(launch(1, 1, 0, parameters), "one by one");
  invalid(d.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr),
          "no parameters");
  void* missing[4] = {&memory, &memory, nullptr, &count};
  invalid(d.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, missing, nullptr),
          "parameter 2 is null");
  CUlaunchAttribute attribute{};
  attribute.id = CUlaunchAttributeID(99);
  CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, stream, &attribute, 1};
  refused(d.cuLaunchKernelEx(&config, function, parameters, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  config.attrs = nullptr;
  invalid(d.cuLaunchKernelEx(&config, function, parameters, nullptr));
  count = 1;  // the first element was never written
  refused(launch(1, 1), CUDA_ERROR_LAUNCH_FAILED, "scale, line 6, block (0,0,0) thread (0,0,0)");
}

TEST_F(MockCalls, Clusters) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  CUlaunchConfig config{16, 1, 1, 1, 1, 1, 0, stream, &attribute, 1};
  int clusters = -1;
  const auto launched = [&](unsigned x, unsigned y = 1) {
    attribute.value.clusterDim = {x, y, 1};
    return d.cuLaunchKernelEx(&config, function, parameters, nullptr);
  };
  const auto held = [&](unsigned x) {
    attribute.value.clusterDim = {x, 1, 1};
    return d.cuOccupancyMaxActiveClusters(&clusters, function, &config);
  };
  for (unsigned blocks : {1u, 2u, 8u}) ok(launched(blocks));
  refused(launched(3), CUDA_ERROR_INVALID_CLUSTER_SIZE, "16 blocks along x in clusters of 3");
  refused(launched(2, 2), CUDA_ERROR_NOT_SUPPORTED);
  refused(launched(16), CUDA_ERROR_INVALID_CLUSTER_SIZE, "clusters of 16 blocks where scale has 8");
  invalid(d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2));
  ok(d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  ok(launched(16));
  ok(held(16));
  EXPECT_EQ(clusters, 32 * 132 / 16);
  config.sharedMemBytes = 49153;
  ok(held(2));
  EXPECT_EQ(clusters, 0);
  config.sharedMemBytes = 0;
  invalid(d.cuOccupancyMaxActiveClusters(nullptr, function, &config));
  refused(d.cuOccupancyMaxActiveClusters(&clusters, nullptr, &config), CUDA_ERROR_INVALID_HANDLE);
  config.numAttrs = 0;
  refused(held(2), CUDA_ERROR_INVALID_CLUSTER_SIZE, "no clusters");
  config.numAttrs = 1;
  setenv("GRAPHC_MOCK_CAPABILITY", "89", 1);
  refused(launched(2), CUDA_ERROR_NOT_SUPPORTED, "below compute capability 9.0");
  unsetenv("GRAPHC_MOCK_CAPABILITY");
  // Of so much shared memory a multiprocessor holds one block.
  setenv("GRAPHC_MOCK_MULTIPROCESSORS", "15", 1);
  ok(d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000));
  config.sharedMemBytes = 200000;
  refused(launched(16), CUDA_ERROR_INVALID_CLUSTER_SIZE, "no cluster of that size is resident");
  ok(launched(8));
  unsetenv("GRAPHC_MOCK_MULTIPROCESSORS");
}

TEST_F(MockCalls, Captures) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUdeviceptr address = 0;
  refused(d.cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  invalid(d.cuStreamBeginCapture(stream, CUstreamCaptureMode(3)));
  refused(d.cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE, "nothing is captured");
  ok(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  refused(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
          CUDA_ERROR_ILLEGAL_STATE);
  // Another thread may allocate, and may not end it.
  std::thread([&] {
    ok(d.cuCtxSetCurrent(context));
    ok(d.cuMemAlloc(&address, 4));
    ok(d.cuMemFree(address));
    refused(d.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  ok(d.cuMemsetD8Async(memory, 7, 64, stream));
  refused(d.cuMemAlloc(&address, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  refused(d.cuMemsetD8Async(memory, 7, 64, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  refused(d.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  invalid(d.cuGraphInstantiate(&executable, graph, 0));
  refused(d.cuGraphLaunch(executable, stream), CUDA_ERROR_INVALID_HANDLE);
  refused(d.cuGraphDestroy(graph), CUDA_ERROR_INVALID_HANDLE);
  refused(d.cuGraphExecDestroy(executable), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(MockCalls, AGraphKeepsNoModuleAlive) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUmodule other = nullptr;
  CUfunction found = nullptr;
  ok(d.cuModuleLoadDataEx(&other, kScale.c_str(), 0, nullptr, nullptr));
  ok(d.cuModuleGetFunction(&found, other, "scale"));
  ok(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ok(d.cuLaunchKernel(found, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  ok(d.cuStreamEndCapture(stream, &graph));
  ok(d.cuGraphInstantiate(&executable, graph, 0));
  ok(d.cuGraphDestroy(graph));
  ok(d.cuGraphLaunch(executable, stream));
  ok(d.cuModuleUnload(other));
  refused(d.cuGraphLaunch(executable, stream), CUDA_ERROR_INVALID_HANDLE,
          "no such function is loaded");
  ok(d.cuGraphExecDestroy(executable));
}

TEST_F(MockCalls, Events) {
  CUevent timed = nullptr, untimed = nullptr;
  float milliseconds = 0;
  invalid(d.cuEventCreate(&timed, 9));
  ok(d.cuEventCreate(&timed, CU_EVENT_DEFAULT));
  ok(d.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  refused(d.cuEventElapsedTime(&milliseconds, timed, timed), CUDA_ERROR_INVALID_HANDLE);
  ok(d.cuEventRecord(timed, stream));
  ok(d.cuEventRecord(untimed, stream));
  ok(d.cuEventElapsedTime(&milliseconds, timed, timed));
  EXPECT_EQ(milliseconds, 0);
  refused(d.cuEventElapsedTime(&milliseconds, timed, untimed), CUDA_ERROR_INVALID_HANDLE);
  CUgraph graph = nullptr;
  ok(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ok(d.cuEventRecord(timed, stream));
  refused(d.cuEventSynchronize(timed), CUDA_ERROR_CAPTURED_EVENT);
  ok(d.cuStreamEndCapture(stream, &graph));
  ok(d.cuGraphDestroy(graph));
  ok(d.cuEventDestroy(timed));
  ok(d.cuEventDestroy(untimed));
  refused(d.cuEventRecord(timed, stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(MockCalls, FailuresAreCounted) {
  size_t free = 0, total = 0;
  EXPECT_EQ(mock.calls("cuMemGetInfo_v2"), 0u);
  mock.fail("cuMemGetInfo_v2", CUDA_ERROR_UNKNOWN, 2);
  ok(d.cuMemGetInfo(&free, &total));
  refused(d.cuMemGetInfo(&free, &total), CUDA_ERROR_UNKNOWN);
  ok(d.cuMemGetInfo(&free, &total));
  EXPECT_EQ(mock.calls("cuMemGetInfo_v2"), 3u);
  mock.fail("cuMemGetInfo_v2", CUDA_ERROR_INVALID_VALUE, 0);
  for (int i = 0; i < 2; ++i) invalid(d.cuMemGetInfo(&free, &total));
  // What destroys something does so all the same.
  CUevent event = nullptr;
  ok(d.cuEventCreate(&event, 0));
  mock.fail("cuEventDestroy_v2", CUDA_ERROR_UNKNOWN, 0);
  const size_t live = mock.live();
  refused(d.cuEventDestroy(event), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(mock.live(), live - 1);
}

/// The functions of a library of its own: a copy of the mock, as nobody has used it.
template <typename Function>
Function fresh(const graphc::core::testing::TemporaryFolder& folder, const std::string& library,
               const char* name) {
  const std::filesystem::path path = folder.path() / library;
  if (!std::filesystem::exists(path)) {
    std::filesystem::copy_file(std::filesystem::path(GRAPHC_MOCK_FOLDER) / library, path);
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw resource_error("cannot open a copy: {}", dlerror());
  return reinterpret_cast<Function>(dlsym(handle, name));
}

TEST(MockDriverAlone, WantsToBeInitialised) {
  const graphc::core::testing::TemporaryFolder folder;
  const auto count =
      fresh<decltype(Driver::cuDeviceGetCount)>(folder, "libcuda.so.1", "cuDeviceGetCount");
  const auto init = fresh<decltype(Driver::cuInit)>(folder, "libcuda.so.1", "cuInit");
  int devices = 0;
  EXPECT_EQ(count(&devices), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(init(0), CUDA_SUCCESS);
  EXPECT_EQ(count(&devices), CUDA_SUCCESS);
  EXPECT_EQ(devices, 1);
}

TEST(MockDriverAlone, FailsAsTheEnvironmentSays) {
  const graphc::core::testing::TemporaryFolder folder;
  setenv("GRAPHC_MOCK_FAIL", "cuDeviceGet:7:1,cuInit:100:2", 1);
  const auto init = fresh<decltype(Driver::cuInit)>(folder, "libcuda.so.1", "cuInit");
  EXPECT_EQ(init(0), CUDA_SUCCESS);
  unsetenv("GRAPHC_MOCK_FAIL");
  EXPECT_EQ(init(0), CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(init(0), CUDA_SUCCESS);
}

TEST(MockCompiler, RefusesWhatIsNoProgram) {
  const graphc::core::testing::TemporaryFolder folder;
  const auto library = "libnvrtc.so.13";
  const auto create =
      fresh<decltype(Nvrtc::nvrtcCreateProgram)>(folder, library, "nvrtcCreateProgram");
  const auto compile =
      fresh<decltype(Nvrtc::nvrtcCompileProgram)>(folder, library, "nvrtcCompileProgram");
  const auto destroy =
      fresh<decltype(Nvrtc::nvrtcDestroyProgram)>(folder, library, "nvrtcDestroyProgram");
  const auto cubin_size =
      fresh<decltype(Nvrtc::nvrtcGetCUBINSize)>(folder, library, "nvrtcGetCUBINSize");
  nvrtcProgram program = nullptr;
  size_t bytes = 7;
  EXPECT_EQ(create(nullptr, "", "a", 0, nullptr, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(create(&program, nullptr, "a", 0, nullptr, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(compile(program, 0, nullptr), NVRTC_ERROR_INVALID_PROGRAM);
  EXPECT_EQ(create(&program, kScale.c_str(), nullptr, 0, nullptr, nullptr), NVRTC_SUCCESS);
  EXPECT_EQ(compile(program, 1, nullptr), NVRTC_ERROR_INVALID_INPUT);
  // Without an architecture there is PTX alone.
  EXPECT_EQ(compile(program, 0, nullptr), NVRTC_SUCCESS);
  EXPECT_EQ(cubin_size(program, &bytes), NVRTC_SUCCESS);
  EXPECT_EQ(bytes, 0u);
  nvrtcProgram again = program;
  EXPECT_EQ(destroy(&program), NVRTC_SUCCESS);
  EXPECT_EQ(program, nullptr);
  EXPECT_EQ(destroy(&again), NVRTC_ERROR_INVALID_PROGRAM);
}

}  // namespace
}  // namespace graphc::core::cuda::testing
