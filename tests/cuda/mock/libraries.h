// SPDX-License-Identifier: Apache-2.0
// What the mock driver has for the mocks of other libraries, which work on its device.
#pragma once

#include <dlfcn.h>

#include <functional>
#include <string>
#include <string_view>

#include "ir/error.h"
#include "runtime/cuda/driver_types.h"

#define GRAPHC_MOCK_EXPORT extern "C" __attribute__((visibility("default")))

namespace graphc::core::cuda_mock {

/// Work of a library in a stream: "" or what went wrong.
using LibraryWork = std::function<std::string()>;

/// The functions of the driver, whose names begin with graphc_mock_library_. Where there is no
/// driver, which a compiler does not need, calls and objects are not counted.
struct LibraryDriver {
  /// Counts a call of a library's function: the error that a test asked for, or 0. A function must
  /// have a context.
  int (*call)(const char* symbol) = [](const char*) { return 0; };
  /// Whether the calling thread has the device's context.
  int (*has_context)() = nullptr;
  /// The device whose context the calling thread has, from 0.
  int (*device)() = nullptr;
  /// Objects of this kind that there are, more by `change`; they count as alive in the driver.
  void (*objects)(const char* kind, int change) = [](const char*, int) {};
  /// Puts work into a stream, which runs it at once or captures it; a CUresult.
  int (*enqueue)(cuda::CUstream stream, const LibraryWork& work) = nullptr;
  /// Calls the function under the driver's lock, which such work has.
  void (*locked)(const std::function<void()>& function) = nullptr;
  /// Under the lock, gives it up until the condition holds, or so many seconds have gone by: 0
  /// then. The condition is looked at after notify() of another thread, under the lock.
  int (*wait)(const std::function<bool()>& until, int seconds) = nullptr;
  /// In such work: that it reads, or writes, bytes of the device. Null, or what is wrong with that:
  /// they are nobody's, or were never written.
  const char* (*reads)(const void* begin, size_t bytes) = nullptr;
  const char* (*writes)(const void* begin, size_t bytes) = nullptr;
};

/// Finds them in the libcuda.so.1 that lies beside the library that asks.
inline const LibraryDriver& library_driver() {
  static const LibraryDriver driver = [] {
    Dl_info self{};
    dladdr(reinterpret_cast<const void*>(&library_driver), &self);
    const std::string path = self.dli_fname;
    void* handle =
        dlopen((path.substr(0, path.rfind('/')) + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    LibraryDriver found;
    if (handle == nullptr) return found;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    };
    find(found.call, "graphc_mock_library_call");
    find(found.has_context, "graphc_mock_library_has_context");
    find(found.device, "graphc_mock_library_device");
    find(found.locked, "graphc_mock_library_locked");
    find(found.wait, "graphc_mock_library_wait");
    find(found.objects, "graphc_mock_library_objects");
    find(found.enqueue, "graphc_mock_library_enqueue");
    find(found.reads, "graphc_mock_library_reads");
    find(found.writes, "graphc_mock_library_writes");
    return found;
  }();
  return driver;
}

/// Memory of the device that work reads; throws ErrorKind::internal for what it may not.
inline const float* read_floats(const void* begin, size_t count) {
  if (const char* wrong = library_driver().reads(begin, count * sizeof(float)))
    throw Error(ErrorKind::internal, {}, wrong);
  return static_cast<const float*>(begin);
}
/// The same to be written.
inline float* written_floats(void* begin, size_t count) {
  if (const char* wrong = library_driver().writes(begin, count * sizeof(float)))
    throw Error(ErrorKind::internal, {}, wrong);
  return static_cast<float*>(begin);
}

/// Work that throws, as LibraryWork.
template <typename Body>
LibraryWork library_work(Body body) {
  return [body = std::move(body)]() -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
}

}  // namespace graphc::core::cuda_mock
