// SPDX-License-Identifier: Apache-2.0
// Modes of floating-point instructions: that of compiled steps on CPUs, which takes numbers below
// the smallest normal one for zeros, and that in which graphs are compiled and evaluated.
#pragma once

#include <cstdint>

namespace graphc::core {

/// A mode of the thread while it lives: MXCSR (Intel 64 and IA-32 Architectures Software
/// Developer's Manual, volume 1, 10.2.3). Afterwards the thread has the mode and the exception
/// flags of before.
class ArithmeticMode {
 public:
  ArithmeticMode(const ArithmeticMode&) = delete;
  ~ArithmeticMode();

 protected:
  explicit ArithmeticMode(uint32_t mode);

 private:
  const uint32_t before_;
  const int rounding_before_;  ///< of long doubles too, which MXCSR does not say
};

/// While one exists, floating-point instructions of its thread take denormal operands for zeros of
/// their sign and give such zeros in place of denormal results; they round to nearest and trap
/// nothing, whatever the thread had set. What only moves numbers keeps their bits.
class DenormalsFlushed : public ArithmeticMode {
 public:
  DenormalsFlushed();
};

/// While one exists its thread computes as a new process does: denormal numbers are kept, rounding
/// is to nearest and nothing traps, whatever the caller of graphc has set.
class UsualArithmetic : public ArithmeticMode {
 public:
  UsualArithmetic();
};

}  // namespace graphc::core
