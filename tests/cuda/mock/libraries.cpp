// SPDX-License-Identifier: Apache-2.0
// The mock driver's functions for the mocks of other libraries (libraries.h).
#include "tests/cuda/mock/libraries.h"

#include "tests/cuda/mock/state.h"

namespace graphc::core::cuda_mock {
namespace {

/// Null, or what went wrong, valid until the thread's next call.
template <typename Access>
const char* text_of_error(const Access& access) {
  thread_local std::string text;
  try {
    access();
  } catch (const Error& error) {
    text = error.message();
    return text.c_str();
  }
  return nullptr;
}

}  // namespace

GRAPHC_MOCK_EXPORT int graphc_mock_library_call(const char* symbol) {
  const std::lock_guard lock(state().mutex);
  return count_call(state(), symbol);
}

GRAPHC_MOCK_EXPORT int graphc_mock_library_has_context() { return has_context() ? 1 : 0; }

GRAPHC_MOCK_EXPORT void graphc_mock_library_objects(const char* kind, int change) {
  const std::lock_guard lock(state().mutex);
  state().library_objects[kind] += change;
}

GRAPHC_MOCK_EXPORT int graphc_mock_library_device() { return current_device(); }

GRAPHC_MOCK_EXPORT void graphc_mock_library_locked(const std::function<void()>& function) {
  const std::lock_guard lock(state().mutex);
  function();
}

GRAPHC_MOCK_EXPORT int graphc_mock_library_wait(const std::function<bool()>& until, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!until()) {
    if (std::chrono::steady_clock::now() > end) return 0;
    state().mutex.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    state().mutex.lock();
  }
  return 1;
}

GRAPHC_MOCK_EXPORT int graphc_mock_library_enqueue(CUstream stream, const LibraryWork& work) {
  return called("graphc_mock_library_enqueue", Needs::context, [&](State& all) {
    return enqueue(all, stream, [work] {
      const std::string wrong = work();
      return wrong.empty() ? CUDA_SUCCESS : fail(CUDA_ERROR_LAUNCH_FAILED, wrong);
    });
  });
}

// Work runs under the lock.
GRAPHC_MOCK_EXPORT const char* graphc_mock_library_reads(const void* begin, size_t bytes) {
  return text_of_error([&] { state().memory.read_by_host(begin, bytes); });
}

GRAPHC_MOCK_EXPORT const char* graphc_mock_library_writes(const void* begin, size_t bytes) {
  return text_of_error([&] { state().memory.written_by_host(begin, bytes); });
}

}  // namespace graphc::core::cuda_mock
