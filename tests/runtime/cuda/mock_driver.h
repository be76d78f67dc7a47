// SPDX-License-Identifier: Apache-2.0
// The mock driver of tests/cuda/mock as a test sees it: its counters, and what it is told to
// refuse.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "ir/error.h"
#include "tests/cuda/mock/control.h"

namespace graphc::core::cuda::testing {

/// Makes this process take the mocks, with 64 MiB, and keep no kernels. Before anything asks for a
/// driver.
inline void use_mocks() {
  setenv("GRAPHC_CACHE", "none", 1);
  setenv("GRAPHC_CUDA_LIBRARIES", GRAPHC_MOCK_FOLDER, 1);
  setenv("GRAPHC_MOCK_MEMORY", "67108864", 1);
}

/// For as long as this lives, the mock driver does work only when somebody waits for it.
class LateWork {
 public:
  LateWork() { setenv("GRAPHC_MOCK_LATE", "1", 1); }
  ~LateWork() { unsetenv("GRAPHC_MOCK_LATE"); }
  LateWork(const LateWork&) = delete;
};

/// What beside the driver's functions the loaded driver has.
class MockDriver {
 public:
  MockDriver() {
    use_mocks();
    handle_ = dlopen(GRAPHC_MOCK_FOLDER "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw resource_error("no mock driver: {}", dlerror());
    heal();
  }
  ~MockDriver() { heal(); }
  MockDriver(const MockDriver&) = delete;
  MockDriver& operator=(const MockDriver&) = delete;

  size_t calls(const char* symbol) const {
    return function<cuda_mock::Calls>("graphc_mock_calls")(symbol);
  }
  size_t live() const { return function<cuda_mock::Live>("graphc_mock_live")(); }
  std::string live_text() const { return function<cuda_mock::LiveText>("graphc_mock_live_text")(); }
  void fail(const char* symbol, int error, size_t call) const {
    function<cuda_mock::Fail>("graphc_mock_fail")(symbol, error, call);
  }
  /// Ends what fail() asked for, and counts from 0.
  void heal() const { fail(nullptr, 0, 0); }
  /// From now on the kernel of this text is that of the other; ends when `text` is null.
  void exchange(const char* text, const char* other, uint64_t most_instructions) const {
    function<cuda_mock::Exchange>("graphc_mock_exchange")(text, other, most_instructions);
  }
  /// The next allocation of so many bytes is these.
  void divide(size_t bytes, const std::vector<size_t>& offsets,
              const std::vector<size_t>& sizes) const {
    function<cuda_mock::Divide>("graphc_mock_divide")(bytes, offsets.data(), sizes.data(),
                                                      offsets.size());
  }
  /// Of the waits of captured streams from now on, this one (from 1; 0: none) orders nothing.
  /// Returns how many there were since this was called last.
  size_t forget(size_t wait) const {
    return function<cuda_mock::Forget>("graphc_mock_forget")(wait);
  }

 private:
  template <typename Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name));
  }

  void* handle_ = nullptr;
};

}  // namespace graphc::core::cuda::testing
