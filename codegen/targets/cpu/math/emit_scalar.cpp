// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/math/emit_scalar.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/targets/cpu/math/vector_math.h"
#include "ir/error.h"
#include "ir/mutant.h"

namespace graphc::core::cpu {
namespace {

llvm::Type* element_type(llvm::IRBuilderBase& b, DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::bf16:
      return b.getFloatTy();
    case DType::f64:
      return b.getDoubleTy();
    case DType::i32:
    case DType::u32:
      return b.getInt32Ty();
    case DType::i64:
      return b.getInt64Ty();
    case DType::u8:
      return b.getInt8Ty();
    case DType::boolean:
      return b.getInt1Ty();
  }
  GRAPHC_CHECK(false, "no type of {}", name_of(dtype));
}

bool is_signed(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

/// 1-bit values widen to 0 and 1, integers wrap, and floats are truncated to integers.
llvm::Value* emit_cast(llvm::IRBuilderBase& b, llvm::Value* x, DType from, DType to) {
  if (element_type(b, from) == element_type(b, to) && is_floating(from)) return x;
  auto* vector = llvm::cast<llvm::VectorType>(x->getType());
  auto* type = llvm::VectorType::get(element_type(b, to), vector->getElementCount());
  llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
  if (to == DType::boolean)
    return is_floating(from) ? b.CreateFCmpUNE(x, zero) : b.CreateICmpNE(x, zero);
  if (from == DType::boolean && is_floating(to))
    return b.CreateSelect(x, llvm::ConstantFP::get(type, 1), llvm::Constant::getNullValue(type));
  if (is_floating(from) && is_floating(to)) return b.CreateFPCast(x, type);
  if (is_floating(to)) return is_signed(from) ? b.CreateSIToFP(x, type) : b.CreateUIToFP(x, type);
  if (is_floating(from)) {
    // Through i64, so that the result wraps instead of being undefined for the narrower types.
    auto* wide = llvm::VectorType::get(b.getInt64Ty(), vector->getElementCount());
    llvm::Value* integer =
        b.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {wide, x->getType()}, {x});
    return b.CreateTrunc(integer, type);
  }
  return b.CreateIntCast(x, type, is_signed(from));
}

llvm::Value* emit_compare(llvm::IRBuilderBase& b, ScalarOp op, DType dtype, llvm::Value* x,
                          llvm::Value* y) {
  if (is_floating(dtype)) {
    if (op == ScalarOp::equal) return b.CreateFCmpOEQ(x, y);
    return op == ScalarOp::less ? b.CreateFCmpOLT(x, y) : b.CreateFCmpOLE(x, y);
  }
  if (op == ScalarOp::equal) return b.CreateICmpEQ(x, y);
  if (is_signed(dtype)) return op == ScalarOp::less ? b.CreateICmpSLT(x, y) : b.CreateICmpSLE(x, y);
  return op == ScalarOp::less ? b.CreateICmpULT(x, y) : b.CreateICmpULE(x, y);
}

llvm::Value* emit_extreme(llvm::IRBuilderBase& b, ScalarOp op, DType dtype, llvm::Value* x,
                          llvm::Value* y) {
  const bool larger = op == ScalarOp::maximum;
  if (is_floating(dtype)) {
    return b.CreateBinaryIntrinsic(larger ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, x,
                                   y);
  }
  if (is_signed(dtype)) {
    return b.CreateBinaryIntrinsic(larger ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, x, y);
  }
  return b.CreateBinaryIntrinsic(larger ? llvm::Intrinsic::umax : llvm::Intrinsic::umin, x, y);
}

/// The masks are constants, from which LLVM sees that one instruction suffices.
llvm::Value* emit_multiply_wide(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y) {
  return b.CreateMul(b.CreateAnd(x, 0xFFFFFFFFu), b.CreateAnd(y, 0xFFFFFFFFu));
}

llvm::Value* emit_unary(llvm::IRBuilderBase& b, const CpuFeatures& cpu, ScalarOp op, DType dtype,
                        llvm::Value* x) {
  const bool floating = is_floating(dtype);
  if (op == ScalarOp::neg) return floating ? b.CreateFNeg(x) : b.CreateNeg(x);
  if (op == ScalarOp::logical_not) return b.CreateNot(x);
  if (op == ScalarOp::abs) {
    if (floating) return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    return is_signed(dtype) ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse()) : x;
  }
  if (op == ScalarOp::sqrt && floating) return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  const VectorMath math(b, cpu);
  if (dtype == DType::f32 || dtype == DType::bf16) {
    switch (op) {
      case ScalarOp::exp:
        return math.exp(x);
      case ScalarOp::expm1:
        return math.expm1(x);
      case ScalarOp::log:
        return math.log(x);
      case ScalarOp::log1p:
        return math.log1p(x);
      case ScalarOp::tanh:
        return math.tanh(x);
      case ScalarOp::sigmoid:
        return math.sigmoid(x);
      case ScalarOp::floor:
        return math.floor(x);
      case ScalarOp::sin:
        return math.sin(x);
      case ScalarOp::cos:
        return math.cos(x);
      default:
        break;
    }
  }
  return nullptr;
}

llvm::Value* emit_binary(llvm::IRBuilderBase& b, const CpuFeatures& cpu, ScalarOp op, DType dtype,
                         llvm::Value* x, llvm::Value* y) {
  const bool floating = is_floating(dtype);
  switch (op) {
    case ScalarOp::add:
      return floating ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case ScalarOp::sub:
      return floating ? b.CreateFSub(x, y) : b.CreateSub(x, y);
    case ScalarOp::mul:
      return floating ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    case ScalarOp::div:
      return floating ? b.CreateFDiv(x, y) : nullptr;
    case ScalarOp::logical_and:
    case ScalarOp::bit_and:
      return b.CreateAnd(x, y);
    case ScalarOp::logical_or:
    case ScalarOp::bit_or:
      return b.CreateOr(x, y);
    case ScalarOp::bit_xor:
      return b.CreateXor(x, y);
    case ScalarOp::shift_left:
      return b.CreateShl(x, y);
    case ScalarOp::shift_right:
      return b.CreateLShr(x, y);
    case ScalarOp::multiply_wide:
      return emit_multiply_wide(b, x, y);
    case ScalarOp::pow:
      return dtype == DType::f32 || dtype == DType::bf16 ? VectorMath(b, cpu).pow(x, y) : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

llvm::Value* rounded_to_bf16(llvm::IRBuilderBase& b, const CpuFeatures& cpu, llvm::Value* x) {
  llvm::Type* const type = x->getType()->getWithNewType(b.getInt32Ty());
  if (cpu.has_avx512_bf16 && x->getType() == vector_type(b, DType::f32, 16)) {
    llvm::Value* nearest =
        b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {}, x);
    llvm::Value* bits = b.CreateBitCast(nearest, type->getWithNewType(b.getInt16Ty()));
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, type), 16), x->getType());
  }
  const auto number = [&](uint32_t value) { return llvm::ConstantInt::get(type, value); };
  llvm::Value* bits = b.CreateBitCast(x, type);
  llvm::Value* odd = b.CreateAnd(b.CreateLShr(bits, number(16)), number(1));
  llvm::Value* nearest = b.CreateAdd(bits, b.CreateAdd(odd, number(0x7fff)));
  llvm::Value* quiet = b.CreateOr(bits, number(0x400000));
  llvm::Value* rounded = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, nearest);
  return b.CreateBitCast(b.CreateAnd(rounded, number(0xffff0000)), x->getType());
}

llvm::Type* vector_type(llvm::IRBuilderBase& builder, DType dtype, int lanes) {
  return llvm::FixedVectorType::get(element_type(builder, dtype), unsigned(lanes));
}

llvm::Value* emit_scalar(llvm::IRBuilderBase& builder, const CpuFeatures& cpu, ScalarOp op,
                         DType dtype, DType operand_dtype, std::span<llvm::Value* const> x) {
  llvm::Value* value = nullptr;
  switch (op) {
    case ScalarOp::select:
      if (mutated(Mutant::mask_ignored)) return x[1];
      if (mutated(Mutant::masked_carry_zeroed))
        return builder.CreateSelect(x[0], x[1], llvm::Constant::getNullValue(x[2]->getType()));
      return builder.CreateSelect(x[0], x[1], x[2]);
    case ScalarOp::cast:
      if (operand_dtype == dtype) return x[0];
      value = emit_cast(builder, x[0], operand_dtype, dtype);
      return dtype == DType::bf16 ? rounded_to_bf16(builder, cpu, value) : value;
    case ScalarOp::equal:
    case ScalarOp::less:
    case ScalarOp::less_equal:
      return emit_compare(builder, op, operand_dtype, x[0], x[1]);
    case ScalarOp::maximum:
    case ScalarOp::minimum:
      return emit_extreme(builder, op, dtype, x[0], x[1]);
    default:
      break;
  }
  if (x.size() == 1) value = emit_unary(builder, cpu, op, dtype, x[0]);
  if (x.size() == 2) value = emit_binary(builder, cpu, op, dtype, x[0], x[1]);
  GRAPHC_CHECK(value != nullptr, "no code for {} of {}", name_of(op), name_of(dtype));
  if (dtype == DType::bf16) return rounded_to_bf16(builder, cpu, value);
  return value;
}

}  // namespace graphc::core::cpu
