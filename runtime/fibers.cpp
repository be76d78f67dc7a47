// SPDX-License-Identifier: Apache-2.0
#include "runtime/fibers.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <new>

// GCC defines a macro for a sanitizer, clang has a feature of it.
#if defined(__SANITIZE_ADDRESS__)
#define GRAPHC_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define GRAPHC_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GRAPHC_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define GRAPHC_THREAD_SANITIZER
#endif
#endif

#if defined(GRAPHC_ADDRESS_SANITIZER)
#include <dlfcn.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(GRAPHC_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace graphc::core {
namespace {

/// Kernels keep their data in arenas: a share of a step needs only a few kilobytes of stack.
constexpr size_t kStackBytes = size_t{1} << 20;

#if defined(GRAPHC_ADDRESS_SANITIZER)
/// The C library's swapcontext: the sanitizer's version warns on stderr that it does not support
/// the switch that is announced to it below.
int swap_contexts(ucontext_t* from, const ucontext_t* to) {
  using Swap = int (*)(ucontext_t*, const ucontext_t*);
  static const auto swap =
      reinterpret_cast<Swap>(dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "swapcontext"));
  return swap(from, to);
}
#else
int swap_contexts(ucontext_t* from, const ucontext_t* to) { return swapcontext(from, to); }
#endif

/// A stack with a guard page, so that an overflow ends the process.
class Stack {
 public:
  Stack() : guard_(size_t(sysconf(_SC_PAGESIZE))) {
    memory_ = mmap(nullptr, guard_ + kStackBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(memory_, guard_, PROT_NONE) == 0) return;
    munmap(memory_, guard_ + kStackBytes);
    throw std::bad_alloc();
  }
  ~Stack() { munmap(memory_, guard_ + kStackBytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void* begin() const { return static_cast<char*>(memory_) + guard_; }

 private:
  size_t guard_;
  void* memory_;
};

}  // namespace

struct Fibers::Fiber {
  ucontext_t context;
  std::unique_ptr<Stack> stack;  ///< null for the first, which uses its caller's
  bool returned = true;
  // The stack bounds, as the sanitizers need them for a switch.
  const void* bottom = nullptr;
  size_t bytes = 0;
  void* fake_stack = nullptr;
  void* of_thread_sanitizer = nullptr;
};

Fibers::Fibers(int count) : count_(count), fibers_(std::make_unique<Fiber[]>(size_t(count))) {
  for (int i = 1; i < count_; ++i) {
    Fiber& fiber = fibers_[size_t(i)];
    fiber.stack = std::make_unique<Stack>();
    fiber.bottom = fiber.stack->begin();
    fiber.bytes = kStackBytes;
#if defined(GRAPHC_THREAD_SANITIZER)
    fiber.of_thread_sanitizer = __tsan_create_fiber(0);
#endif
  }
}

Fibers::~Fibers() {
#if defined(GRAPHC_THREAD_SANITIZER)
  for (int i = 1; i < count_; ++i) __tsan_destroy_fiber(fibers_[size_t(i)].of_thread_sanitizer);
#endif
}

void Fibers::run(Call call, void* target) {
  call_ = call;
  target_ = target;
  current_ = 0;
  for (int i = 0; i < count_; ++i) {
    fibers_[size_t(i)].returned = false;
    if (i > 0) prepare(fibers_[size_t(i)]);
  }
#if defined(GRAPHC_THREAD_SANITIZER)
  fibers_[0].of_thread_sanitizer = __tsan_get_current_fiber();
#endif
  call_(target_, 0);
  end(0);
}

void Fibers::prepare(Fiber& fiber) {
  getcontext(&fiber.context);
  fiber.context.uc_stack = {.ss_sp = fiber.stack->begin(), .ss_flags = 0, .ss_size = kStackBytes};
  fiber.context.uc_link = nullptr;
  // The arguments of makecontext are ints: an address takes two.
  const auto self = uint64_t(reinterpret_cast<uintptr_t>(this));
  makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Fibers::enter), 2, unsigned(self >> 32),
              unsigned(self));
}

void Fibers::enter(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<Fibers*>(uintptr_t(uint64_t(high) << 32 | low));
  const int index = self->current_;
  self->begin(index);
  self->call_(self->target_, index);
  self->end(index);
}

/// The first call's stack becomes known when it switches away.
void Fibers::begin([[maybe_unused]] int index) {
#if defined(GRAPHC_ADDRESS_SANITIZER)
  const void* bottom = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  if (index == 1) {
    fibers_[0].bottom = bottom;
    fibers_[0].bytes = bytes;
  }
#endif
}

void Fibers::end(int index) {
  fibers_[size_t(index)].returned = true;
  const int next = after(index);
  if (next != index) return switch_to(next);
  if (index != 0) switch_to(0);
}

int Fibers::after(int index) const {
  for (int i = 1; i < count_; ++i) {
    const int other = (index + i) % count_;
    if (!fibers_[size_t(other)].returned) return other;
  }
  return index;
}

void Fibers::pass() {
  const int next = after(current_);
  if (next != current_) switch_to(next);
}

void Fibers::switch_to(int index) {
  Fiber& from = fibers_[size_t(current_)];
  Fiber& to = fibers_[size_t(index)];
  current_ = index;
#if defined(GRAPHC_ADDRESS_SANITIZER)
  // A finished call leaves no frames on its stack, except for the first one.
  const bool left = from.returned && from.stack != nullptr;
  __sanitizer_start_switch_fiber(left ? nullptr : &from.fake_stack, to.bottom, to.bytes);
#elif defined(GRAPHC_THREAD_SANITIZER)
  __tsan_switch_to_fiber(to.of_thread_sanitizer, 0);
#endif
  swap_contexts(&from.context, &to.context);
#if defined(GRAPHC_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

}  // namespace graphc::core
