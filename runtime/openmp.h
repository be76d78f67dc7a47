// SPDX-License-Identifier: Apache-2.0
// The threads of an OpenMP runtime that is in the process already, such as PyTorch's.
//
// These threads spin for milliseconds after each parallel region, on the CPUs that a team's threads
// need next. A step that runs as a parallel region finds them awake, and leaves none of its own
// spinning. The interface is GCC's, which LLVM's and Intel's runtimes have too.
#pragma once

#include <optional>
#include <string>

namespace graphc::core {

class OpenMp {
 public:
  /// The runtime that a library calls, by the library's path. Empty if the library is not loaded,
  /// or has no such runtime among its dependencies.
  static std::optional<OpenMp> of_library(const std::string& path);

  /// The number of threads that a parallel region of the calling thread has; 1 inside of one.
  int threads() const;

  /// Calls `function(data, thread)` on each of `threads` threads, 0 on the caller's, and returns
  /// when all have returned. Returns false, without a call, if the runtime gives another number of
  /// threads, as under OMP_THREAD_LIMIT. Any thread may call it; `function` does not throw.
  bool run(int threads, void (*function)(void* data, int thread), void* data) const;

 private:
  OpenMp() = default;

  void (*parallel_)(void (*)(void*), void*, unsigned threads, unsigned flags) = nullptr;
  int (*most_threads_)() = nullptr;
  int (*in_parallel_)() = nullptr;
  int (*threads_of_region_)() = nullptr;
  int (*thread_of_region_)() = nullptr;
};

}  // namespace graphc::core
