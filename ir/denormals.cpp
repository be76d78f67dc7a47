// SPDX-License-Identifier: Apache-2.0
// In a file of its own: opaque calls keep the compiler from moving arithmetic across them.
#include "ir/denormals.h"

#include <immintrin.h>

#include <cfenv>

namespace graphc::core {
namespace {

/// All exceptions are masked; rounding is to nearest.
constexpr uint32_t kUsual = _MM_MASK_MASK | _MM_ROUND_NEAREST;
/// Flushes results and treats denormal operands as zero.
constexpr uint32_t kFlushing = kUsual | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON;

}  // namespace

// Long doubles follow the rounding mode of the x87 unit, which has its own control register.
ArithmeticMode::ArithmeticMode(uint32_t mode)
    : before_(_mm_getcsr()), rounding_before_(std::fegetround()) {
  std::fesetround(FE_TONEAREST);
  _mm_setcsr(mode);
}

ArithmeticMode::~ArithmeticMode() {
  std::fesetround(rounding_before_);
  _mm_setcsr(before_);
}

DenormalsFlushed::DenormalsFlushed() : ArithmeticMode(kFlushing) {}

UsualArithmetic::UsualArithmetic() : ArithmeticMode(kUsual) {}

}  // namespace graphc::core
