// SPDX-License-Identifier: Apache-2.0
#include "runtime/openmp.h"

#include <dlfcn.h>

namespace graphc::core {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::optional<OpenMp> OpenMp::of_library(const std::string& path) {
  // Symbols are looked up in the library and in what it depends on. The handle stays open: the
  // functions are needed until the process ends.
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  OpenMp found;
  if (find(library, "GOMP_parallel", found.parallel_) &&
      find(library, "omp_get_max_threads", found.most_threads_) &&
      find(library, "omp_in_parallel", found.in_parallel_) &&
      find(library, "omp_get_num_threads", found.threads_of_region_) &&
      find(library, "omp_get_thread_num", found.thread_of_region_)) {
    return found;
  }
  dlclose(library);
  return std::nullopt;
}

int OpenMp::threads() const { return in_parallel_() != 0 ? 1 : most_threads_(); }

bool OpenMp::run(int threads, void (*function)(void*, int), void* data) const {
  struct Region {
    const OpenMp& runtime;
    const int threads;
    void (*function)(void*, int);
    void* data;
    bool called;  ///< written by thread 0
  } region{*this, threads, function, data, false};
  parallel_(
      [](void* argument) {
        Region& here = *static_cast<Region*>(argument);
        if (here.runtime.threads_of_region_() != here.threads) return;
        const int thread = here.runtime.thread_of_region_();
        if (thread == 0) here.called = true;
        here.function(here.data, thread);
      },
      &region, unsigned(threads), 0);
  return region.called;
}

}  // namespace graphc::core
