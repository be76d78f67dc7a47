// SPDX-License-Identifier: Apache-2.0
// The mock driver's functions as tests of it call them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/cuda/driver.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/runtime/cuda/scale.h"

namespace graphc::core::cuda::testing {

/// A driver in use, called without what runtime/cuda puts around it.
class MockCalls : public ::testing::Test {
 protected:
  MockCalls() : d(driver()) {
    ok(d.cuDevicePrimaryCtxRetain(&context, 0));
    ok(d.cuCtxSetCurrent(context));
    ok(d.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    ok(d.cuModuleLoadDataEx(&module, kScale.c_str(), 0, nullptr, nullptr));
    ok(d.cuModuleGetFunction(&function, module, "scale"));
    ok(d.cuMemAlloc(&memory, 64));
  }
  ~MockCalls() override {
    mock.heal();
    ok(d.cuMemFree(memory));
    ok(d.cuModuleUnload(module));
    ok(d.cuStreamDestroy(stream));
    ok(d.cuDevicePrimaryCtxRelease(0));
    EXPECT_EQ(mock.live(), 0u) << mock.live_text();
  }

  std::string text(CUresult result) const {
    const char* words = "none";
    d.cuGetErrorString(result, &words);
    return words;
  }
  void ok(CUresult result) const { EXPECT_EQ(result, CUDA_SUCCESS) << text(result); }
  /// Wants an error, whose words begin so.
  void refused(CUresult result, CUresult wanted, const std::string& words = "") const {
    EXPECT_EQ(result, wanted);
    EXPECT_THAT(text(result), ::testing::HasSubstr(words));
  }
  void invalid(CUresult result, const std::string& words = "") const {
    refused(result, CUDA_ERROR_INVALID_VALUE, words);
  }
  CUresult launch(unsigned grid, unsigned block, unsigned shared = 0, void** extra = nullptr) {
    return d.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, stream, parameters, extra);
  }

  const MockDriver mock;
  const Driver& d;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr memory = 0;
  float factor = 2;
  int count = 0;
  void* parameters[4] = {&memory, &memory, &factor, &count};
};

}  // namespace graphc::core::cuda::testing
