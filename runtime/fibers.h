// SPDX-License-Identifier: Apache-2.0
// Calls that take turns on one thread, each with its own stack (POSIX makecontext, swapcontext).
// Each keeps its own floating-point control words, as threads do.
#pragma once

#include <cstdint>
#include <memory>

namespace graphc::core {

class Fibers {
 public:
  using Call = void (*)(void* target, int index);

  /// Prepares for `count` calls, at least 1. Throws std::bad_alloc if there is no memory for
  /// stacks.
  explicit Fibers(int count);
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers();

  /// Makes the calls of all indices and returns when all have returned; 0 starts, on the caller's
  /// own stack. They must not throw.
  void run(Call call, void* target);
  /// Called inside a call: switches to the next unfinished call in index order, and returns when
  /// this call's turn comes again.
  void pass();

 private:
  struct Fiber;
  static void enter(unsigned high, unsigned low);
  void prepare(Fiber& fiber);
  void begin(int index);
  void end(int index);
  void switch_to(int index);
  /// The next index after `index` whose call has not returned; `index` if there is none.
  int after(int index) const;

  const int count_;
  std::unique_ptr<Fiber[]> fibers_;
  Call call_ = nullptr;
  void* target_ = nullptr;
  int current_ = 0;
};

}  // namespace graphc::core
