// SPDX-License-Identifier: Apache-2.0
// Floating-point modes: that of compiled steps on CPUs, which flushes denormals to zero, and that
// of compilation and evaluation.
#pragma once

#include <cstdint>

namespace graphc::core {

/// Sets the thread's mode during its lifetime: MXCSR (Intel 64 and IA-32 Architectures Software
/// Developer's Manual, volume 1, 10.2.3). The destructor restores the mode and the exception flags.
class ArithmeticMode {
 public:
  ArithmeticMode(const ArithmeticMode&) = delete;
  ~ArithmeticMode();

 protected:
  explicit ArithmeticMode(uint32_t mode);

 private:
  const uint32_t before_;
  const int rounding_before_;  ///< x87 rounding, which MXCSR does not include
};

/// During its lifetime, floating-point instructions on this thread treat denormal operands as zeros
/// of their sign and produce such zeros instead of denormal results; they round to nearest and do
/// not trap, whatever the thread had set. Pure data movement keeps all bits.
class DenormalsFlushed : public ArithmeticMode {
 public:
  DenormalsFlushed();
};

/// During its lifetime this thread computes as in a new process: denormals are kept, rounding is to
/// nearest, and nothing traps, whatever graphc's caller has set.
class UsualArithmetic : public ArithmeticMode {
 public:
  UsualArithmetic();
};

}  // namespace graphc::core
