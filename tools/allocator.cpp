// SPDX-License-Identifier: Apache-2.0
// operator new on top of mimalloc's malloc. Debian's mimalloc compiles its own operator new as C,
// which cannot throw: without memory and without a new handler it aborts (and a handler that throws
// would escape from the nothrow forms). These versions throw std::bad_alloc as the standard
// requires.
//
// Where the exception cannot be thrown or caught, the program ends with the same message and exit
// code: before main(), if allocating the exception fails, in a thread, and in a noexcept function.
#include <mimalloc.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <new>
#include <string_view>

namespace {

constexpr int kResource = 5;  // ErrorKind::resource

// Both are constant-initialised: memory is allocated before this file's dynamic initialisers run.
std::atomic<bool> memory_ran_out = false;
std::atomic<std::terminate_handler> terminate_otherwise = nullptr;

[[noreturn]] void end_without_memory() {
  constexpr std::string_view text = "error: out of memory\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  _exit(kResource);
}

/// Whether the uncaught exception is std::bad_alloc; LLVM throws it after a failed malloc.
bool is_out_of_memory() noexcept {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
  }
  return false;
}

void terminate() {
  if (memory_ran_out || is_out_of_memory()) end_without_memory();
  terminate_otherwise.load()();
}

[[maybe_unused]] const bool installed = [] {
  terminate_otherwise = std::set_terminate(terminate);
  return true;
}();

/// Calls `allocate()`, again after each successful call of the program's new handler.
template <typename Allocate>
void* allocate_or_throw(const Allocate& allocate) {
  for (;;) {
    if (void* const memory = allocate()) return memory;
    memory_ran_out = true;
    if (terminate_otherwise.load() == nullptr) end_without_memory();  // main() has not started
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

auto plain(size_t size) {
  return [=] { return mi_malloc(size); };
}
auto aligned(size_t size, std::align_val_t alignment) {
  return [=] { return mi_malloc_aligned(size, size_t(alignment)); };
}

}  // namespace

using std::align_val_t;
using std::nothrow_t;

void* operator new(size_t size) { return allocate_or_throw(plain(size)); }
void* operator new[](size_t size) { return allocate_or_throw(plain(size)); }
void* operator new(size_t size, align_val_t to) { return allocate_or_throw(aligned(size, to)); }
void* operator new[](size_t size, align_val_t to) { return allocate_or_throw(aligned(size, to)); }
void* operator new(size_t size, const nothrow_t&) noexcept { return mi_malloc(size); }
void* operator new[](size_t size, const nothrow_t&) noexcept { return mi_malloc(size); }
void* operator new(size_t size, align_val_t to, const nothrow_t&) noexcept {
  return mi_malloc_aligned(size, size_t(to));
}
void* operator new[](size_t size, align_val_t to, const nothrow_t&) noexcept {
  return mi_malloc_aligned(size, size_t(to));
}

void operator delete(void* memory) noexcept { mi_free(memory); }
void operator delete[](void* memory) noexcept { mi_free(memory); }
void operator delete(void* memory, size_t) noexcept { mi_free(memory); }
void operator delete[](void* memory, size_t) noexcept { mi_free(memory); }
void operator delete(void* memory, align_val_t) noexcept { mi_free(memory); }
void operator delete[](void* memory, align_val_t) noexcept { mi_free(memory); }
void operator delete(void* memory, size_t, align_val_t) noexcept { mi_free(memory); }
void operator delete[](void* memory, size_t, align_val_t) noexcept { mi_free(memory); }
void operator delete(void* memory, const nothrow_t&) noexcept { mi_free(memory); }
void operator delete[](void* memory, const nothrow_t&) noexcept { mi_free(memory); }
void operator delete(void* memory, align_val_t, const nothrow_t&) noexcept { mi_free(memory); }
void operator delete[](void* memory, align_val_t, const nothrow_t&) noexcept { mi_free(memory); }
