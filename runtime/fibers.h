// SPDX-License-Identifier: Apache-2.0
// Calls that take turns on one thread, each with a stack of its own (POSIX makecontext,
// swapcontext). Each keeps its floating-point control words, as threads do.
#pragma once

#include <cstdint>
#include <memory>

namespace graphc::core {

class Fibers {
 public:
  using Call = void (*)(void* target, int index);

  /// Room for `count` calls, at least 1. Throws std::bad_alloc when there is no memory for stacks.
  explicit Fibers(int count);
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers();

  /// Makes the calls of all indices and returns when all have returned; 0 begins, on the caller's
  /// own stack. They must not throw.
  void run(Call call, void* target);
  /// From inside a call: the next one that has not returned goes on, in the order of the indices,
  /// and this one when its turn comes again.
  void pass();

 private:
  struct Fiber;
  static void enter(unsigned high, unsigned low);
  void prepare(Fiber& fiber);
  void begin(int index);
  void end(int index);
  void switch_to(int index);
  /// The next index after `index` whose call has not returned; `index` when there is none.
  int after(int index) const;

  const int count_;
  std::unique_ptr<Fiber[]> fibers_;
  Call call_ = nullptr;
  void* target_ = nullptr;
  int current_ = 0;
};

}  // namespace graphc::core
