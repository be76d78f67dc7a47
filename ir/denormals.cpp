// SPDX-License-Identifier: Apache-2.0
// In a file of its own: calls that the compiler cannot see into keep arithmetic on its side of
// them.
#include "ir/denormals.h"

#include <immintrin.h>

#include <cfenv>

namespace graphc::core {
namespace {

/// Every exception is masked, rounding is to nearest.
constexpr uint32_t kUsual = _MM_MASK_MASK | _MM_ROUND_NEAREST;
/// Results are flushed, operands too.
constexpr uint32_t kFlushing = kUsual | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON;

}  // namespace

// Long doubles round as the x87 unit is told, which has a register of its own.
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
