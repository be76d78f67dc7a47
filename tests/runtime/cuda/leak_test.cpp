// SPDX-License-Identifier: Apache-2.0
// Each call of the driver fails once, and whatever was made until then is given back; every code
// of those calls that are made once a process, or only of an error. Every code of the others:
// tests/codegen/cuda/every_error_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/stream.h"
#include "tests/cuda/mock/error_codes.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/runtime/cuda/scale.h"

namespace graphc::core::cuda::testing {
namespace {

/// Uses everything that runtime/cuda has.
void use_all(const std::string& image) {
  const DevicePtr device = Device::open();
  const Module module(device, image, "scale.cu");
  const Kernel kernel = module.kernel("scale");
  kernel.allow_dynamic_shared(64 * 1024);
  kernel.registers();
  kernel.resident_blocks(32, 0);
  kernel.resident_clusters(2, 32, 0);
  const Stream stream(device);
  const DeviceBuffer buffer(device, 64, "x"), other(device, 64, "y");
  const PinnedBuffer pinned(device, 64, "inputs");
  const Event begin(device), end(device);
  device->free_memory();
  begin.record(stream);
  stream.wait(begin);
  stream.fill(buffer.address(), 0, 64, "x");
  CUdeviceptr from = buffer.address(), to = other.address();
  float factor = 2;
  int count = 16;
  void* parameters[] = {&from, &to, &factor, &count};
  const GraphExec graph = stream.capture([&] {
    stream.launch(kernel, {{1, 1, 1}, {16, 1, 1}}, parameters);
    stream.launch(kernel, {{1, 1, 1}, {16, 1, 1}, 0, true}, parameters);
  });
  graph.launch(stream);
  stream.copy(from, to, 64, "y");
  stream.copy_to_host(pinned.data(), to, 64, "y");
  stream.copy_to_device(from, pinned.data(), 64, "x");
  end.record(stream);
  end.synchronize();
  end.milliseconds_since(begin);
  stream.is_captured();
  stream.synchronize("all");
}

TEST(CudaLeaks, NothingIsLeftWhenACallFails) {
  const MockDriver mock;
  const std::string image = compile_text(kScale, "scale.cu", "sm_90a").image;
  use_all(image);
  ASSERT_EQ(mock.live(), 0u) << mock.live_text();
  int failures = 0, unseen = 0;
  std::vector<std::string> never;
  for (const std::string symbol : {
#define GRAPHC_DRIVER_FUNCTION(name, symbol, parameters) #symbol,
#include "runtime/cuda/driver.def"
#undef GRAPHC_DRIVER_FUNCTION
       }) {
    mock.heal();
    use_all(image);
    const size_t calls = mock.calls(symbol.c_str());
    if (calls == 0) never.push_back(symbol);
    for (size_t call = 1; call <= calls; ++call) {
      mock.heal();
      mock.fail(symbol.c_str(), CUDA_ERROR_UNKNOWN, call);
      try {
        use_all(image);
        ++unseen;
      } catch (const Error& error) {
        ++failures;
        EXPECT_NE(error.message().find(": unknown error"), std::string::npos) << error.what();
      }
      EXPECT_EQ(mock.live(), 0u) << symbol << ", call " << call << ": " << mock.live_text();
      EXPECT_GE(mock.calls(symbol.c_str()), call);
    }
  }
  // Started once before this, and errors in words.
  EXPECT_EQ(never, (std::vector<std::string>{"cuInit", "cuDriverGetVersion", "cuGetErrorName",
                                             "cuGetErrorString"}));
  EXPECT_GT(failures, 50);
  // What is destroyed, and made current for it, is not heard of.
  EXPECT_GT(unseen, 10);
}

TEST(CudaLeaks, ADriverThatCannotBeStartedSaysWhy) {
  const MockDriver mock;
  for (const char* symbol : {"cuInit", "cuDriverGetVersion"}) {
    for (const cuda_mock::ErrorCode& code : cuda_mock::kDriverCodes) {
      mock.heal();
      mock.fail(symbol, code.value, 1);
      const std::string& why_not = load_driver(places_of_environment()).library.why_not;
      EXPECT_EQ(why_not, code.value == 0 ? "" : fmt::format("{}: {}", symbol, code.words));
    }
  }
  mock.heal();
  EXPECT_EQ(load_driver(places_of_environment()).library.why_not, "");
  EXPECT_EQ(mock.live(), 0u) << mock.live_text();
}

TEST(CudaLeaks, WhatIsAskedOfAnErrorMayFailToo) {
  const MockDriver mock;
  const DevicePtr device = Device::open();
  for (const cuda_mock::ErrorCode& code : cuda_mock::kDriverCodes) {
    mock.heal();
    mock.fail("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY, 1);
    mock.fail("cuMemGetInfo_v2", code.value, 1);
    mock.fail("cuGetErrorString", code.value, 1);
    try {
      DeviceBuffer(device, 64, "x");
      ADD_FAILURE() << "there was memory";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::resource);
      EXPECT_EQ(error.message(), fmt::format("cuMemAlloc (64 bytes for x): {}",
                                             code.value == 0 ? "out of memory" : "error 2"));
      EXPECT_EQ(error.notes().size(), code.value == 0 ? 1u : 0u);
    }
  }
}

}  // namespace
}  // namespace graphc::core::cuda::testing
