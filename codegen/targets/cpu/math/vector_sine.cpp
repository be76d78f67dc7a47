// SPDX-License-Identifier: Apache-2.0
// Sine and cosine of any float: Payne and Hanek's reduction of the argument ("Radian reduction for
// trigonometric functions", SIGNUM Newsletter 18, 1983) in integers, then a polynomial. The
// coefficients come from tools/derive_coefficients.py.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <limits>

#include "codegen/targets/cpu/math/vector_math.h"

namespace graphc::core::cpu {

using llvm::Value;

namespace {

// sin(r) = r + r z S(z) and cos(r) = 1 - z / 2 + z^2 C(z), z = r^2, for |r| <= pi/4.
constexpr double kSine[] = {-0.166666552f, 0.00833218917f, -0.00019518286f};
constexpr double kCosine[] = {0.0416666456f, -0.00138873095f, 2.44323273e-05f};

// The binary digits of 2/pi after 33 zeros: bits of weight 2^32, 2^31, ...
constexpr std::array<uint32_t, 7> kTwoOverPi{0x00000000, 0x517cc1b7, 0x27220a94, 0xfe13abe8,
                                             0xfa9a6ee0, 0x6db14acc, 0x9e21c820};

// pi/2 = high + low.
constexpr double kHalfPiHigh = 1.57079637f, kHalfPiLow = -4.37113883e-08f;
constexpr double kQuarterPi = 0.785398163f;

}  // namespace

// |x| = a 2^(e - 31) with a 32-bit integer a. Of 2/pi 2^(e - 31) only the bits of weight 2 and
// below matter: those above contribute multiples of four quadrants. The product of 96 of them and
// a, modulo 2^96, gives the quadrant and 94 bits of the position in it. The upper 62 of these are
// correct and sufficient: no float is nearer to a multiple of pi/2 than 2^-29.9 quadrants. For size
// of pi/4 or more.
VectorMath::Quadrant VectorMath::quadrant(Value* size) const {
  llvm::IRBuilderBase& b = builder_;
  Value* pattern = bits(size);
  Value* exponent = b.CreateSub(b.CreateLShr(pattern, 23), integer(size, 127));
  Value* a = b.CreateOr(b.CreateShl(pattern, 8), integer(size, INT32_MIN));
  // Represents a float below 1 as half of a at exponent 0.
  Value* below_one = b.CreateICmpSLT(exponent, integer(size, 0));
  a = b.CreateSelect(below_one, b.CreateLShr(a, 1), a);
  exponent = b.CreateSelect(below_one, integer(size, 0), exponent);

  // Selects word exponent / 32 and the three after it, shifted by the remainder.
  std::array<Value*, 4> words{};
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = integer(size, int32_t(kTwoOverPi[i]));
    for (int skipped = 1; skipped < 4; ++skipped) {
      Value* beyond = b.CreateICmpSGE(exponent, integer(size, 32 * skipped));
      Value* word = integer(size, int32_t(kTwoOverPi[i + size_t(skipped)]));
      words[i] = b.CreateSelect(beyond, word, words[i]);
    }
  }
  Value* shift = b.CreateAnd(exponent, integer(size, 31));
  const auto shifted = [&](size_t i, Value* by) {
    return b.CreateIntrinsic(llvm::Intrinsic::fshl, {by->getType()}, {words[i], words[i + 1], by});
  };
  auto* narrow = a->getType();
  auto* wide = narrow->getWithNewType(b.getInt64Ty());
  const auto product = [&](Value* word) {
    return b.CreateMul(b.CreateZExt(a, wide), b.CreateZExt(word, wide));
  };
  Value* sum =
      b.CreateAdd(b.CreateLShr(product(shifted(2, shift)), 32), product(shifted(1, shift)));
  Value* low = b.CreateTrunc(sum, narrow);
  Value* high =
      b.CreateAdd(b.CreateTrunc(b.CreateLShr(sum, 32), narrow), b.CreateMul(a, shifted(0, shift)));

  // Two bits of the quadrant, then the fraction; rounded to the nearest quadrant.
  Value* q = b.CreateLShr(b.CreateAdd(high, integer(size, 1 << 29)), 30);
  Value* fraction_high = b.CreateOr(b.CreateShl(high, 2), b.CreateLShr(low, 30));
  Value* fraction_low = b.CreateLShr(b.CreateShl(low, 2), 1);
  const auto number = [&](Value* fraction, double unit) {
    return b.CreateFMul(b.CreateSIToFP(fraction, size->getType()), constant(size, unit));
  };
  Value* place = b.CreateFAdd(number(fraction_high, 0x1p-32), number(fraction_low, 0x1p-63));
  Value* r = multiply_add(place, constant(size, kHalfPiLow),
                          b.CreateFMul(place, constant(size, kHalfPiHigh)));
  return {r, q};
}

// sin(r + q pi/2) is sin(r), cos(r), -sin(r), -cos(r) for q = 0, 1, 2, 3.
Value* VectorMath::sine(Value* x, Ahead ahead) const {
  llvm::IRBuilderBase& b = builder_;
  Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  auto [r, q] = quadrant(size);
  Value* small = b.CreateFCmpOLT(size, constant(x, kQuarterPi));
  r = b.CreateSelect(small, size, r);
  q = b.CreateSelect(small, integer(x, 0), q);
  if (ahead == Ahead::quadrant) q = b.CreateAdd(q, integer(x, 1));

  Value* z = b.CreateFMul(r, r);
  Value* square = b.CreateFMul(z, z);
  Value* sine = multiply_add(b.CreateFMul(r, z), polynomial(z, square, kSine), r);
  Value* cosine = multiply_add(square, polynomial(z, square, kCosine),
                               multiply_add(z, constant(x, -0.5), constant(x, 1)));
  Value* odd = b.CreateICmpNE(b.CreateAnd(q, integer(x, 1)), integer(x, 0));
  Value* result = bits(b.CreateSelect(odd, cosine, sine));

  Value* sign = b.CreateShl(b.CreateAnd(q, integer(x, 2)), 30);
  if (ahead == Ahead::none) sign = b.CreateXor(sign, b.CreateAnd(bits(x), integer(x, INT32_MIN)));
  result = b.CreateBitCast(b.CreateXor(result, sign), x->getType());
  // Infinity and NaN have no sine or cosine.
  Value* nan = llvm::ConstantFP::getNaN(x->getType());
  return b.CreateSelect(b.CreateFCmpOLT(size, constant(x, VectorMath::kInfinity)), result, nan);
}

Value* VectorMath::sin(Value* x) const { return sine(x, Ahead::none); }

Value* VectorMath::cos(Value* x) const { return sine(x, Ahead::quadrant); }

}  // namespace graphc::core::cpu
