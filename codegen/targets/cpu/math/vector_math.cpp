// SPDX-License-Identifier: Apache-2.0
// The coefficients come from tools/derive_coefficients.py.
#include "codegen/targets/cpu/math/vector_math.h"

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <cfloat>
#include <functional>
#include <limits>
#include <vector>

#include "ir/error.h"
#include "ir/mutant.h"

namespace graphc::core::cpu {
namespace {

using llvm::Value;

// ln 2 = high + low; high has 15 bits, so that n * high is exact.
constexpr float kLog2E = 1.44269504f;
constexpr float kLn2High = 0.693145752f, kLn2Low = 1.42860677e-06f;

// exp(r) = 1 + r + r^2 P(r) and expm1(r) = r + r^2 P(r) for |r| <= ln(2) / 2.
constexpr double kExp[] = {0.499992311f, 0.166671127f, 0.0418902077f, 0.00831274223f};
constexpr double kExpm1[] = {0.49999997f, 0.16666539f, 0.0416677557f, 0.00836711749f,
                             0.00138359331f};
// log(1 + f) = f - f^2 / 2 + f^3 P(f) for sqrt(1/2) <= 1 + f <= sqrt(2).
constexpr double kLog[] = {0.333333313f, -0.250008225f, 0.200012609f, -0.166233331f,
                           0.142009392f, -0.131595328f, 0.127671465f, -0.0764336139f};
// tanh(x) = x P(u) / Q(u), u = x^2, for |x| <= 9.02.
constexpr double kTanhP[] = {1.0f, 0.13382639f, 0.00349739706f, 2.06347249e-05f, 1.33826257e-08f};
constexpr double kTanhQ[] = {1.0f, 0.467159599f, 0.0258841384f, 0.000328841357f, 7.78959588e-07f};

// Adding 1.5 * 2^23 to a float of less than 2^22 leaves its nearest integer in the low bits.
constexpr float kRounder = 0x1.8p23f;
constexpr int kMantissaBits = 23;
constexpr int32_t kOneBits = 0x3f800000;       // 1.0f
constexpr int32_t kHalfBits = 0x3f000000;      // 0.5f
constexpr int32_t kRootHalfBits = 0x3f3504f3;  // sqrt(1/2)

// exp() rounds to 0 below this range and to infinity above it; n stays within -150 .. 128.
constexpr double kExpLow = -104, kExpHigh = 89;

constexpr MathFunction kFunctions[] = {
    MathFunction::exp,   MathFunction::expm1,   MathFunction::log,  MathFunction::log1p,
    MathFunction::tanh,  MathFunction::sigmoid, MathFunction::sqrt, MathFunction::rsqrt,
    MathFunction::floor, MathFunction::sin,     MathFunction::cos};

llvm::Type* bits_type(Value* x) {
  return x->getType()->getWithNewType(llvm::Type::getInt32Ty(x->getContext()));
}

int lanes_of(Value* x) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return vector == nullptr ? 1 : int(vector->getNumElements());
}

}  // namespace

std::string_view name_of(MathFunction function) {
  constexpr std::string_view names[] = {"exp",  "expm1", "log",   "log1p", "tanh", "sigmoid",
                                        "sqrt", "rsqrt", "floor", "sin",   "cos"};
  return names[size_t(function)];
}

std::span<const MathFunction> all_math_functions() { return kFunctions; }

// x = n ln 2 + r with |r| <= ln(2) / 2 and n an integer.
struct VectorMath::Reduced {
  Value* r;
  Value* n;        // as a float
  Value* rounder;  // n + kRounder: its low bits are n
};

Value* VectorMath::constant(Value* like, double value) const {
  return llvm::ConstantFP::get(like->getType(), value);
}

Value* VectorMath::integer(Value* like, int32_t value) const {
  return llvm::ConstantInt::get(bits_type(like), uint64_t(int64_t(value)), /*IsSigned=*/true);
}

Value* VectorMath::bits(Value* x) const { return builder_.CreateBitCast(x, bits_type(x)); }

Value* VectorMath::multiply_add(Value* a, Value* b, Value* c) const {
  // Without the instruction, llvm.fma is a library call for each element.
  if (!cpu_.has_fma) return builder_.CreateFAdd(builder_.CreateFMul(a, b), c);
  return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

// The order of the operands makes these minps and maxps, which return the second, x, for NaN.
Value* VectorMath::at_most(Value* x, double limit) const {
  Value* most = constant(x, limit);
  return builder_.CreateSelect(builder_.CreateFCmpOLT(most, x), most, x);
}

Value* VectorMath::at_least(Value* x, double limit) const {
  Value* least = constant(x, limit);
  return builder_.CreateSelect(builder_.CreateFCmpOGT(least, x), least, x);
}

// Even and odd powers separately: half the latency of Horner's rule and fewer roundings in
// sequence, for one more product, the square, which most callers need anyway.
Value* VectorMath::polynomial(Value* x, Value* square, std::span<const double> coefficients) const {
  const auto every_second = [&](size_t first) {
    size_t i = (coefficients.size() - 1 - first) / 2 * 2 + first;
    Value* sum = constant(x, coefficients[i]);
    for (; i > first; i -= 2) {
      sum = multiply_add(sum, square, constant(x, coefficients[i - 2]));
    }
    return sum;
  };
  return multiply_add(every_second(1), x, every_second(0));
}

VectorMath::Reduced VectorMath::reduce(Value* x) const {
  Value* rounder = multiply_add(x, constant(x, kLog2E), constant(x, kRounder));
  Value* n = builder_.CreateFSub(rounder, constant(x, kRounder));
  Value* r = multiply_add(n, constant(x, -kLn2High), x);
  return {multiply_add(n, constant(x, -kLn2Low), r), n, rounder};
}

// 2^n for the n in the low bits of `n`, if the exponent is in range; other bits of n are shifted
// out.
Value* VectorMath::power_of_two(Value* n) const {
  Value* shifted = builder_.CreateShl(n, integer(n, kMantissaBits));
  Value* biased = builder_.CreateAdd(shifted, integer(n, kOneBits));
  return builder_.CreateBitCast(biased, n->getType()->getWithNewType(builder_.getFloatTy()));
}

// x * 2^n, rounded once, for every n of reduce().
Value* VectorMath::scale(Value* x, const Reduced& by) const {
  const int lanes = lanes_of(x);
  if (cpu_.has_avx512 && (lanes == 16 || lanes == 8 || lanes == 4)) {
    const auto all = [&](int width) {
      return llvm::Constant::getAllOnesValue(builder_.getIntNTy(unsigned(width)));
    };
    switch (lanes) {
      case 16:
        return builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                        {x, by.n, x, all(16), builder_.getInt32(4)});
      case 8:
        return builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_256, {},
                                        {x, by.n, x, all(8)});
      default:
        return builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_128, {},
                                        {x, by.n, x, all(8)});
    }
  }
  // In two factors, because 2^n alone overflows at n = 128 and is denormal below -126. The first
  // product is exact. Halving the rounder halves n; the rounder's own bits are shifted out.
  Value* n = bits(by.rounder);
  Value* half = builder_.CreateLShr(n, integer(n, 1));
  Value* rest = builder_.CreateSub(n, half);
  return builder_.CreateFMul(builder_.CreateFMul(x, power_of_two(half)), power_of_two(rest));
}

Value* VectorMath::exp_between(Value* x, double low, double high) const {
  const Reduced reduced = reduce(at_least(at_most(x, high), low));
  Value* r = reduced.r;
  Value* square = builder_.CreateFMul(r, r);
  Value* tail = multiply_add(square, polynomial(r, square, kExp), r);
  return scale(builder_.CreateFAdd(tail, constant(x, 1)), reduced);
}

Value* VectorMath::exp(Value* x) const { return exp_between(x, kExpLow, kExpHigh); }

// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), computed with half of 2^n so that n = 128 does not overflow.
Value* VectorMath::expm1(Value* x) const {
  const Reduced reduced = reduce(at_least(at_most(x, kExpHigh), -18));
  Value* r = reduced.r;
  Value* square = builder_.CreateFMul(r, r);
  Value* near = multiply_add(square, polynomial(r, square, kExpm1), r);
  Value* n = bits(reduced.rounder);
  Value* shifted = builder_.CreateShl(n, integer(n, kMantissaBits));
  Value* half_power =
      builder_.CreateBitCast(builder_.CreateAdd(shifted, integer(n, kHalfBits)), x->getType());
  Value* half = multiply_add(half_power, near, builder_.CreateFSub(half_power, constant(x, 0.5)));
  Value* result = builder_.CreateFAdd(half, half);
  // For x so small that e^x - 1 is x: preserves denormals and the sign of zero.
  Value* size = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  return builder_.CreateSelect(builder_.CreateFCmpOLT(size, constant(x, 0x1p-25)), x, result);
}

// x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), for x above 0, finite and normal.
VectorMath::Parts VectorMath::parts_of_normal(Value* x) const {
  Value* pattern = bits(x);
  Value* above = builder_.CreateSub(pattern, integer(x, kRootHalfBits));
  Value* exponent = builder_.CreateAShr(above, integer(x, kMantissaBits));
  Value* shifted = builder_.CreateShl(exponent, integer(x, kMantissaBits));
  Value* mantissa = builder_.CreateSub(pattern, shifted);
  Value* f = builder_.CreateFSub(builder_.CreateBitCast(mantissa, x->getType()), constant(x, 1));
  return {f, builder_.CreateSIToFP(exponent, x->getType()), shifted};
}

// The same for denormals as well, which it scales to normal numbers first.
VectorMath::Parts VectorMath::parts_of(Value* x) const {
  Value* small = builder_.CreateFCmpOLT(x, constant(x, FLT_MIN));
  Value* scaled = builder_.CreateSelect(small, builder_.CreateFMul(x, constant(x, 0x1p23)), x);
  Value* correction = builder_.CreateSelect(small, constant(x, -23), constant(x, 0));
  Parts parts = parts_of_normal(scaled);
  parts.e = builder_.CreateFAdd(parts.e, correction);
  return parts;
}

// log(x) for x above 0; infinity and NaN are returned unchanged, -infinity of 0, NaN below.
Value* VectorMath::log_from(const Parts& parts, Value* x) const {
  const auto& [f, e, unused] = parts;
  Value* square = builder_.CreateFMul(f, f);
  Value* inner = multiply_add(f, polynomial(f, square, kLog), constant(x, -0.5));
  Value* low = multiply_add(square, inner, builder_.CreateFMul(e, constant(x, kLn2Low)));
  Value* result = multiply_add(e, constant(x, kLn2High), builder_.CreateFAdd(f, low));
  result = builder_.CreateSelect(builder_.CreateFCmpOLT(x, constant(x, kInfinity)), result, x);
  result = builder_.CreateSelect(builder_.CreateFCmpOEQ(x, constant(x, 0)), constant(x, -kInfinity),
                                 result);
  Value* nan = llvm::ConstantFP::getNaN(x->getType());
  return builder_.CreateSelect(builder_.CreateFCmpOLT(x, constant(x, 0)), nan, result);
}

Value* VectorMath::log(Value* x) const { return log_from(parts_of(x), x); }

// log(u) for u = fl(1 + x); the rounding error of u, which is a float, is added to f. u is never
// denormal. Where it is 1, the result is x, also if that is denormal or -0.
Value* VectorMath::log1p(Value* x) const {
  Value* one = constant(x, 1);
  Value* u = builder_.CreateFAdd(x, one);
  Value* lost = builder_.CreateFSub(x, builder_.CreateFSub(u, one));
  Parts parts = parts_of_normal(u);
  // 2^-e; for large e, where nothing of it is left in f, a number that is not 0 or infinity.
  Value* most = integer(x, 64 << kMantissaBits);
  Value* exponent = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, parts.exponent, most);
  Value* unit =
      builder_.CreateBitCast(builder_.CreateSub(integer(x, kOneBits), exponent), x->getType());
  parts.f = multiply_add(lost, unit, parts.f);
  return builder_.CreateSelect(builder_.CreateFCmpOEQ(u, one), x, log_from(parts, u));
}

Value* VectorMath::tanh(Value* x) const {
  if (!cpu_.has_fma) {
    // Rounding each product would take the quotient below past 5 ulp.
    Value* size = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    Value* power = expm1(at_most(builder_.CreateFAdd(size, size), 20));
    Value* quotient = builder_.CreateFDiv(power, builder_.CreateFAdd(power, constant(x, 2)));
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, quotient, x);
  }
  // The quotient exceeds 1 before the clamp, so that all larger x give exactly 1.
  const double limit = mutated(Mutant::tanh_clamped_early) ? 4 : 9.25;
  Value* clamped = at_least(at_most(x, limit), -limit);
  Value* u = builder_.CreateFMul(clamped, clamped);
  Value* square = builder_.CreateFMul(u, u);
  Value* numerator = builder_.CreateFMul(clamped, polynomial(u, square, kTanhP));
  Value* quotient = divide(numerator, polynomial(u, square, kTanhQ));
  return at_least(at_most(quotient, 1), -1);
}

// e^x / (1 + e^x): correct also where e^-x overflows. From x = 17 on the quotient is 1.
Value* VectorMath::sigmoid(Value* x) const {
  Value* power = exp_between(x, kExpLow, 40);
  return divide(power, builder_.CreateFAdd(power, constant(x, 1)));
}

// One Newton step from an estimate of 14 bits, and one for the quotient, which preserves the sign
// of zero: 6 cycles for a vector of 16, where a division takes 16.
Value* VectorMath::divide(Value* x, Value* y) const {
  const int lanes = lanes_of(x);
  const bool has_estimate = cpu_.divides_by_estimate && (lanes == 16 || lanes == 8 || lanes == 4);
  if (!has_estimate) return builder_.CreateFDiv(x, y);
  Value* reciprocal = reciprocal_estimate(y);
  Value* error = multiply_add(builder_.CreateFNeg(y), reciprocal, constant(y, 1));
  reciprocal = multiply_add(error, reciprocal, reciprocal);
  Value* quotient = builder_.CreateFMul(x, reciprocal);
  Value* too_much = multiply_add(y, quotient, builder_.CreateFNeg(x));
  return multiply_add(builder_.CreateFNeg(too_much), reciprocal, quotient);
}

Value* VectorMath::reciprocal_estimate(Value* x) const {
  const int lanes = lanes_of(x);
  const llvm::Intrinsic::ID instruction = lanes == 16  ? llvm::Intrinsic::x86_avx512_rcp14_ps_512
                                          : lanes == 8 ? llvm::Intrinsic::x86_avx512_rcp14_ps_256
                                                       : llvm::Intrinsic::x86_avx512_rcp14_ps_128;
  Value* all =
      lanes == 16 ? static_cast<Value*>(builder_.getInt16(0xffff)) : builder_.getInt8(0xff);
  return builder_.CreateIntrinsic(instruction, {}, {x, x, all});
}

Value* VectorMath::sqrt(Value* x) const {
  return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
}

Value* VectorMath::rsqrt(Value* x) const { return builder_.CreateFDiv(constant(x, 1), sqrt(x)); }

Value* VectorMath::floor(Value* x) const {
  if (cpu_.has_sse41) return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
  // Without the instruction, llvm.floor is a library call for each element.
  Value* size = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* fractional = builder_.CreateFCmpOLT(size, constant(x, 0x1p23));
  Value* safe = builder_.CreateSelect(fractional, x, constant(x, 0));
  Value* whole = builder_.CreateSIToFP(builder_.CreateFPToSI(safe, bits_type(x)), x->getType());
  Value* below = builder_.CreateFSub(whole, constant(x, 1));
  Value* result = builder_.CreateSelect(builder_.CreateFCmpOGT(whole, safe), below, whole);
  result = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, x);
  return builder_.CreateSelect(fractional, result, x);
}

Value* VectorMath::apply(MathFunction function, Value* x) const {
  switch (function) {
    case MathFunction::exp:
      return exp(x);
    case MathFunction::expm1:
      return expm1(x);
    case MathFunction::log:
      return log(x);
    case MathFunction::log1p:
      return log1p(x);
    case MathFunction::tanh:
      return tanh(x);
    case MathFunction::sigmoid:
      return sigmoid(x);
    case MathFunction::sqrt:
      return sqrt(x);
    case MathFunction::rsqrt:
      return rsqrt(x);
    case MathFunction::floor:
      return floor(x);
    case MathFunction::sin:
      return sin(x);
    case MathFunction::cos:
      return cos(x);
  }
  GRAPHC_CHECK(false, "no such function: {}", int(function));
}

namespace {

using Apply = std::function<Value*(const VectorMath&, std::span<Value* const>)>;

/// A kernel `name` whose parameters are `arrays` operand arrays, a result array, and their length.
CodeModule emit_loop(const CpuFeatures& cpu, std::string_view name, size_t arrays, int lanes,
                     const Apply& apply) {
  CodeModule kernel(cpu, name);
  llvm::IRBuilder<> builder(kernel.context());
  std::vector<llvm::Type*> arguments(arrays + 1, builder.getPtrTy());
  arguments.push_back(builder.getInt64Ty());
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), arguments, /*isVarArg=*/false);
  llvm::Function* loop = kernel.define(name, type);
  Value *y = loop->getArg(unsigned(arrays)), *count = loop->getArg(unsigned(arrays) + 1);
  const auto block = [&](const char* label) {
    return llvm::BasicBlock::Create(kernel.context(), label, loop);
  };
  auto *entry = block("entry"), *body = block("body"), *exit = block("exit");

  builder.SetInsertPoint(entry);
  builder.CreateCondBr(builder.CreateICmpSGT(count, builder.getInt64(0)), body, exit);

  builder.SetInsertPoint(body);
  llvm::PHINode* i = builder.CreatePHI(builder.getInt64Ty(), 2, "i");
  auto* vector = llvm::FixedVectorType::get(builder.getFloatTy(), unsigned(lanes));
  const llvm::Align align(sizeof(float));
  const auto at = [&](Value* array) {
    return builder.CreateInBoundsGEP(builder.getFloatTy(), array, i);
  };
  std::vector<Value*> operands;
  for (size_t a = 0; a < arrays; ++a)
    operands.push_back(builder.CreateAlignedLoad(vector, at(loop->getArg(unsigned(a))), align));
  Value* result = apply(VectorMath(builder, kernel.cpu()), operands);
  builder.CreateAlignedStore(result, at(y), align);
  Value* next = builder.CreateAdd(i, builder.getInt64(lanes));
  i->addIncoming(builder.getInt64(0), entry);
  i->addIncoming(next, body);
  builder.CreateCondBr(builder.CreateICmpSLT(next, count), body, exit);

  builder.SetInsertPoint(exit);
  builder.CreateRetVoid();
  return kernel;
}

}  // namespace

CodeModule emit_math_loop(const CpuFeatures& cpu, MathFunction function, int lanes) {
  return emit_loop(cpu, name_of(function), 1, lanes,
                   [&](const VectorMath& math, std::span<Value* const> x) {
                     return math.apply(function, x[0]);
                   });
}

CodeModule emit_pow_loop(const CpuFeatures& cpu, int lanes) {
  return emit_loop(cpu, "pow", 2, lanes, [](const VectorMath& math, std::span<Value* const> x) {
    return math.pow(x[0], x[1]);
  });
}

}  // namespace graphc::core::cpu
