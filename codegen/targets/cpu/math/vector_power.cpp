// SPDX-License-Identifier: Apache-2.0
// x^y = 2^(y log2 x) in double precision: an error of y log2 x is multiplied by up to 128, which
// would leave too little precision in a float; and no float is a denormal as a double. The
// coefficients come from tools/derive_coefficients.py.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "codegen/targets/cpu/math/vector_math.h"

namespace graphc::core::cpu {

using llvm::Value;

namespace {

// log2(1 + f) = s P(u) with s = f / (2 + f) and u = s^2, for sqrt(1/2) <= 1 + f <= sqrt(2).
constexpr double kLog2[] = {2.88539008177785,   0.9617966941134923, 0.5770779423172967,
                            0.4122092575100772, 0.319905474072094,  0.2829035114499515};
// 2^g = P(g) for |g| <= 1/2.
constexpr double kExp2[] = {1.0,
                            0.6931472056067098,
                            0.24022648459584056,
                            0.055503289703146344,
                            0.009618373449372206,
                            0.0013399874628700638,
                            0.00015370690830756798};

// Adding 1.5 * 2^52 to a double of less than 2^51 leaves its nearest integer in the low bits.
constexpr double kDoubleRounder = 0x1.8p52;
constexpr int kDoubleMantissaBits = 52;
constexpr uint64_t kDoubleOneBits = uint64_t{1023} << kDoubleMantissaBits;

}  // namespace

// The doubles log2(x) for floats x >= 0; infinity and NaN are returned unchanged.
Value* VectorMath::log2_wide(Value* x) const {
  llvm::IRBuilderBase& b = builder_;
  auto* wide = x->getType()->getWithNewType(b.getDoubleTy());
  const Parts parts = parts_of(x);
  // log(1 + f) = 2 atanh(s), s = f / (2 + f)
  Value* f = b.CreateFPExt(parts.f, wide);
  Value* s = b.CreateFDiv(f, b.CreateFAdd(f, constant(f, 2)));
  Value* u = b.CreateFMul(s, s);
  Value* ratio = polynomial(u, b.CreateFMul(u, u), kLog2);
  Value* result = multiply_add(s, ratio, b.CreateFPExt(parts.e, wide));
  Value* finite = b.CreateFCmpOLT(x, constant(x, VectorMath::kInfinity));
  result = b.CreateSelect(finite, result, b.CreateFPExt(x, wide));
  Value* zero = b.CreateFCmpOEQ(x, constant(x, 0));
  return b.CreateSelect(zero, constant(result, -VectorMath::kInfinity), result);
}

// The floats 2^x for doubles x. 2^n is a normal double for every relevant n, so that a result is
// rounded once, also to a denormal or to infinity.
Value* VectorMath::exp2_wide(Value* x) const {
  llvm::IRBuilderBase& b = builder_;
  Value* t = at_least(at_most(x, 200), -200);
  Value* rounder = b.CreateFAdd(t, constant(t, kDoubleRounder));
  Value* g = b.CreateFSub(t, b.CreateFSub(rounder, constant(t, kDoubleRounder)));
  Value* near = polynomial(g, b.CreateFMul(g, g), kExp2);
  auto* pattern = t->getType()->getWithNewType(b.getInt64Ty());
  Value* n = b.CreateShl(b.CreateBitCast(rounder, pattern), uint64_t{kDoubleMantissaBits});
  Value* power = b.CreateAdd(n, llvm::ConstantInt::get(pattern, kDoubleOneBits));
  Value* result = b.CreateFMul(near, b.CreateBitCast(power, t->getType()));
  return b.CreateFPTrunc(result, t->getType()->getWithNewType(b.getFloatTy()));
}

Value* VectorMath::pow(Value* x, Value* y) const {
  llvm::IRBuilderBase& b = builder_;
  const auto size_of = [&](Value* of) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, of); };
  // Bounds y, so that the power of 1, whose logarithm is 0, is 1 for an infinite y too.
  Value* logarithm = log2_wide(size_of(x));
  Value* exponent = b.CreateFPExt(y, logarithm->getType());
  exponent = at_least(at_most(exponent, 0x1p120), -0x1p120);
  Value* result = exp2_wide(b.CreateFMul(exponent, logarithm));

  // From 2^24 on every y is even. The comparison is false for NaN, so no undefined conversion
  // occurs.
  Value* fractional = b.CreateFCmpOLT(size_of(y), constant(y, 0x1p24));
  Value* safe = b.CreateSelect(fractional, y, constant(y, 0));
  Value* whole = b.CreateFPToSI(safe, bits(y)->getType());
  Value* integral = b.CreateFCmpOEQ(b.CreateSIToFP(whole, y->getType()), safe);
  // An odd power has the sign of x.
  Value* odd = b.CreateSelect(integral, b.CreateShl(whole, 31), integer(y, 0));
  result = b.CreateXor(bits(result), b.CreateAnd(odd, bits(x)));
  result = b.CreateBitCast(result, x->getType());
  // A negative number has no non-integral power; 0 and infinity do, and theirs has no sign.
  Value* negative = b.CreateAnd(b.CreateFCmpOLT(x, constant(x, 0)),
                                b.CreateFCmpOGT(x, constant(x, -VectorMath::kInfinity)));
  Value* nan = llvm::ConstantFP::getNaN(x->getType());
  result = b.CreateSelect(b.CreateAnd(negative, b.CreateNot(integral)), nan, result);
  Value* one = b.CreateOr(b.CreateFCmpOEQ(y, constant(y, 0)), b.CreateFCmpOEQ(x, constant(x, 1)));
  return b.CreateSelect(one, constant(x, 1), result);
}

}  // namespace graphc::core::cpu
