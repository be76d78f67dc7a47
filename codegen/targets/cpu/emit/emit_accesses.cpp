// SPDX-License-Identifier: Apache-2.0
// The operands of a body: where an element is in memory, and how vectors are loaded and stored.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/targets/cpu/emit/emit_body.h"
#include "codegen/targets/cpu/math/emit_scalar.h"
#include "ir/mutant.h"

namespace graphc::core::cpu {

using llvm::Value;

bool BodyEmitter::moves_with_row(size_t operand) const {
  return program_.operands[operand].by_row && program_.operands[operand].kind != OperandKind::iota;
}

BodyEmitter::Values BodyEmitter::starts_of(Value* row) {
  Values starts;
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (moves_with_row(i))
      starts.push_back(at(operands_[i].base, b_.CreateMul(row, operands_[i].row)));
  }
  return starts;
}

BodyEmitter::Values BodyEmitter::starts_behind(const Values& starts) {
  Values behind;
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (moves_with_row(i)) behind.push_back(at(starts[behind.size()], operands_[i].row));
  }
  return behind;
}

/// Where an operand's part 0 begins, in a row or in all of them.
Value* BodyEmitter::start(size_t index, Value* row) {
  const OperandValues& argument = operands_[index];
  if (!moves_with_row(index) || row == nullptr) return argument.base;
  const auto known = starts_.find(row);
  if (known == starts_.end()) return at(argument.base, b_.CreateMul(row, argument.row));
  size_t before = 0;
  for (size_t i = 0; i < index; ++i) before += moves_with_row(i) ? 1 : 0;
  return known->second[before];
}

Value* BodyEmitter::address(int index, int part, Value* row, Value* column) {
  const NestOperand& operand = program_.operands[size_t(index)];
  const OperandValues& argument = operands_[size_t(index)];
  Value* pointer = start(size_t(index), row);
  if (part > 0) pointer = at(pointer, b_.CreateMul(argument.part, number(part)));
  if (operand.column == ColumnStep::contiguous && column != nullptr) {
    pointer = at(pointer, b_.CreateMul(column, number(size_of(operand.dtype))));
  } else if (operand.column == ColumnStep::strided && column != nullptr) {
    pointer = at(pointer, b_.CreateMul(column, argument.column));
  }
  return pointer;
}

/// In memory bool is a byte and bf16 the upper half of an f32; in registers bool is a bit.
llvm::Type* BodyEmitter::stored_type(DType dtype) {
  if (dtype == DType::bf16)
    return llvm::FixedVectorType::get(b_.getInt16Ty(), unsigned(shape_.lanes));
  return vector_type(b_, dtype == DType::boolean ? DType::u8 : dtype, shape_.lanes);
}

Value* BodyEmitter::as_stored(DType dtype, Value* value) {
  llvm::Type* type = value->getType();
  if (dtype == DType::boolean) return b_.CreateZExt(value, type->getWithNewType(b_.getInt8Ty()));
  if (dtype != DType::bf16) return value;
  // A value widened from 16 bits is stored as those bits: no later pass would simplify this.
  namespace match = llvm::PatternMatch;
  Value* half = nullptr;
  if (match::match(value, match::m_BitCast(match::m_Shl(match::m_ZExt(match::m_Value(half)),
                                                        match::m_SpecificInt(16)))) &&
      half->getType() == type->getWithNewType(b_.getInt16Ty()))
    return half;
  Value* bits = b_.CreateBitCast(value, type->getWithNewType(b_.getInt32Ty()));
  return b_.CreateTrunc(b_.CreateLShr(bits, 16), type->getWithNewType(b_.getInt16Ty()));
}

Value* BodyEmitter::as_loaded(DType dtype, Value* value) {
  llvm::Type* type = value->getType();
  if (dtype == DType::boolean) return b_.CreateICmpNE(value, llvm::Constant::getNullValue(type));
  if (dtype != DType::bf16) return value;
  Value* bits = b_.CreateShl(b_.CreateZExt(value, type->getWithNewType(b_.getInt32Ty())), 16);
  return b_.CreateBitCast(bits, type->getWithNewType(b_.getFloatTy()));
}

Value* BodyEmitter::lane_pointers(Value* pointer, Value* stride) {
  auto* wide = vector_type(b_, DType::i64, shape_.lanes);
  Value* offsets =
      b_.CreateMul(lane_numbers(wide), b_.CreateVectorSplat(unsigned(shape_.lanes), stride));
  return b_.CreateGEP(b_.getInt8Ty(), pointer, offsets);
}

Value* BodyEmitter::lane_numbers(llvm::Type* type) {
  std::vector<llvm::Constant*> lanes;
  for (int i = 0; i < shape_.lanes; ++i) {
    lanes.push_back(
        llvm::ConstantInt::get(llvm::cast<llvm::VectorType>(type)->getElementType(), uint64_t(i)));
  }
  return llvm::ConstantVector::get(lanes);
}

Value* BodyEmitter::load_operand(const NestInstruction& in, Value* row, Value* column,
                                 Value* mask) {
  const NestOperand& operand = program_.operands[size_t(in.operand)];
  if (operand.kind == OperandKind::iota) return load_iota(in, row, column);
  const llvm::Align align{uint64_t(size_of(operand.dtype))};
  llvm::Type* type = stored_type(operand.dtype);
  Value* pointer = address(in.operand, in.part, row, column);
  Value* value = nullptr;
  if (operand.column == ColumnStep::none) {
    value = b_.CreateVectorSplat(unsigned(shape_.lanes),
                                 b_.CreateAlignedLoad(type->getScalarType(), pointer, align));
  } else if (operand.column == ColumnStep::contiguous) {
    const auto load = [&](Value* lanes) -> Value* {
      if (lanes == nullptr) return b_.CreateAlignedLoad(type, pointer, align);
      return b_.CreateMaskedLoad(type, pointer, align, lanes, llvm::Constant::getNullValue(type));
    };
    // AVX2 loads numbers of 32 and 64 bits under a mask as fast as without one.
    const bool fast = cpu_.vector_lanes_f32 > 4 && size_of(operand.dtype) >= 4;
    value = fast ? load(mask) : access_lanes(mask, load);
  } else {
    Value* pointers = lane_pointers(pointer, operands_[size_t(in.operand)].column);
    value = access_lanes(mask, [&](Value* lanes) -> Value* {
      return b_.CreateMaskedGather(type, pointers, align, lanes == nullptr ? all_lanes() : lanes,
                                   llvm::Constant::getNullValue(type));
    });
  }
  return as_loaded(operand.dtype, value);
}

Value* BodyEmitter::load_iota(const NestInstruction& in, Value* row, Value* column) {
  const NestOperand& operand = program_.operands[size_t(in.operand)];
  const OperandValues& argument = operands_[size_t(in.operand)];
  const bool by_column = operand.column != ColumnStep::none && column != nullptr;
  Value* first = b_.CreateAdd(argument.base, b_.CreateMul(argument.part, number(in.part)));
  if (operand.by_row && row != nullptr)
    first = b_.CreateAdd(first, b_.CreateMul(row, argument.row));
  if (by_column) first = b_.CreateAdd(first, b_.CreateMul(column, argument.column));
  // Integers of 32 bits or less wrap, so their lower 32 bits suffice.
  const bool narrow = is_integer(operand.dtype) && size_of(operand.dtype) <= 4;
  auto* type = vector_type(b_, narrow ? DType::i32 : DType::i64, shape_.lanes);
  const auto splat = [&](Value* x) {
    return b_.CreateVectorSplat(unsigned(shape_.lanes), b_.CreateTrunc(x, type->getScalarType()));
  };
  Value* value = splat(first);
  if (by_column)
    value = b_.CreateAdd(value, b_.CreateMul(lane_numbers(type), splat(argument.column)));
  Value* const operands[] = {value};
  return emit_scalar(b_, cpu_, ScalarOp::cast, operand.dtype, narrow ? DType::i32 : DType::i64,
                     operands);
}

void BodyEmitter::store_operand(const NestInstruction& in, Value* row, Value* column, Value* mask) {
  const NestOperand& operand = program_.operands[size_t(in.operand)];
  const llvm::Align align{uint64_t(size_of(operand.dtype))};
  Value* value = as_stored(operand.dtype, values_[place_][size_t(in.a)]);
  Value* pointer = address(in.operand, in.part, row, column);
  if (operand.column == ColumnStep::contiguous) {
    store_vector(operand, value, pointer, mask);
  } else if (operand.column == ColumnStep::strided) {
    Value* pointers = lane_pointers(pointer, operands_[size_t(in.operand)].column);
    access_lanes(mask, [&](Value* lanes) -> Value* {
      return b_.CreateMaskedScatter(value, pointers, align, lanes == nullptr ? all_lanes() : lanes);
    });
  } else {
    b_.CreateAlignedStore(b_.CreateExtractElement(value, uint64_t(0)), pointer, align);
  }
}

/// Emits code that does one or the other; with values, the one that was computed.
Value* BodyEmitter::emit_either(Value* condition, const std::function<Value*()>& one,
                                const std::function<Value*()>& other) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, function);
  };
  llvm::BasicBlock *first = block("one"), *second = block("other"), *end = block("end");
  b_.CreateCondBr(condition, first, second);
  b_.SetInsertPoint(first);
  Value* of_first = one();
  b_.CreateBr(end);
  b_.SetInsertPoint(second);
  Value* of_second = other();
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  if (of_first->getType()->isVoidTy()) return nullptr;
  llvm::PHINode* value = b_.CreatePHI(of_first->getType(), 2);
  value->addIncoming(of_first, first);
  value->addIncoming(of_second, second);
  return value;
}

/// Calls `access` with a mask, or without one for all lanes. Without AVX-512 a masked store takes
/// some twelve cycles (AVX2 of AMD), and whatever else has no instruction with a mask is one branch
/// for each lane. So there, code for both is emitted, unless whole vectors have code of their own.
Value* BodyEmitter::access_lanes(Value* mask, const std::function<Value*(Value* mask)>& access) {
  if (mask == nullptr || masks_for_rest_ || cpu_.has_avx512) return access(mask);
  return emit_either(
      b_.CreateAndReduce(mask), [&] { return access(nullptr); }, [&] { return access(mask); });
}

/// Uses a streaming store if the vector is whole and its address is aligned as such stores require.
void BodyEmitter::store_vector(const NestOperand& operand, Value* value, Value* pointer,
                               Value* mask) {
  const llvm::Align align{uint64_t(size_of(operand.dtype))};
  const auto store_in_caches = [&](Value* lanes) -> Value* {
    if (lanes == nullptr) return b_.CreateAlignedStore(value, pointer, align);
    return b_.CreateMaskedStore(value, pointer, align, lanes);
  };
  if (!operand.streaming) {
    access_lanes(mask, store_in_caches);
    return;
  }
  const uint64_t bytes = uint64_t(size_of(operand.dtype)) * uint64_t(shape_.lanes);
  Value* address = b_.CreatePtrToInt(pointer, b_.getInt64Ty());
  Value* whole = b_.CreateIsNull(b_.CreateAnd(address, number(int64_t(bytes) - 1)));
  if (mask != nullptr) whole = b_.CreateAnd(whole, b_.CreateAndReduce(mask));
  const auto store_past_caches = [&]() -> Value* {
    llvm::StoreInst* store = b_.CreateAlignedStore(value, pointer, llvm::Align(bytes));
    store->setMetadata(
        llvm::LLVMContext::MD_nontemporal,
        llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    return store;
  };
  emit_either(whole, store_past_caches, [&] { return store_in_caches(mask); });
}

Value* BodyEmitter::load_sum(const NestInstruction& in, Value* tile) {
  int vectors = in.part * shape_.vectors;
  for (int p = 0; p < in.operand; ++p)
    vectors += program_.products[size_t(p)].parts * shape_.vectors;
  Value* sum =
      b_.CreateAlignedLoad(vector_type(b_, DType::f32, shape_.lanes),
                           at(tile, number(int64_t(vectors) * shape_.lanes * 4)), llvm::Align(4));
  const bool rounds = in.dtype == DType::bf16 && !mutated(Mutant::narrow_products_cut_off);
  return rounds ? rounded_to_bf16(b_, cpu_, sum) : sum;
}

}  // namespace graphc::core::cpu
