// SPDX-License-Identifier: Apache-2.0
// The reductions of a body: accumulators, and how their lanes and pieces are combined.
#include <llvm/IR/IRBuilder.h>

#include "codegen/targets/cpu/emit/emit_body.h"
#include "codegen/targets/cpu/math/emit_scalar.h"
#include "ir/mutant.h"

namespace graphc::core::cpu {

using llvm::Value;

std::vector<BodyEmitter::Reduction> BodyEmitter::reductions() const {
  std::vector<Reduction> found;
  for (const NestInstruction& in : program_.body) {
    if (in.kind != NestOp::reduce) continue;
    const NestOperand& operand = program_.operands[size_t(in.operand)];
    const Reduction wanted{in.operand, program_.kind == NestKind::row_wise ? 0 : in.part,
                           operand.dtype, operand.kind == OperandKind::reduce_max};
    bool known = false;
    for (const Reduction& r : found) known |= r.operand == wanted.operand && r.part == wanted.part;
    if (!known) found.push_back(wanted);
  }
  return found;
}

Value* BodyEmitter::identity(const Reduction& r) {
  llvm::Type* type = vector_type(b_, r.dtype, shape_.lanes);
  if (!r.maximum) return llvm::Constant::getNullValue(type);
  if (is_floating(r.dtype)) return llvm::ConstantFP::getInfinity(type, true);
  const unsigned bits = type->getScalarSizeInBits();
  const bool is_signed = r.dtype == DType::i32 || r.dtype == DType::i64;
  return llvm::ConstantInt::get(
      type, is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0));
}

void BodyEmitter::set_accumulators(const std::vector<Reduction>& all, const Values& values,
                                   size_t offset, size_t place) {
  for (size_t i = 0; i < all.size(); ++i)
    accumulators_[{all[i].operand, all[i].part, place}] = values[offset + i];
}

void BodyEmitter::append_accumulators(const std::vector<Reduction>& all, Values& values,
                                      size_t place) {
  for (const Reduction& r : all) values.push_back(accumulators_[{r.operand, r.part, place}]);
}

void BodyEmitter::store_row(const Reduction& r, Value* row, Value* lanes) {
  const OperandValues& argument = operands_[size_t(r.operand)];
  b_.CreateAlignedStore(finished(r, across_lanes(r, lanes)),
                        at(argument.base, b_.CreateMul(row, argument.row)),
                        llvm::Align(uint64_t(size_of(r.dtype))));
}

void BodyEmitter::store_rows(const Reduction& r, Value* row, Value* count, Values rows) {
  const llvm::Align align{uint64_t(size_of(r.dtype))};
  Value* stride = operands_[size_t(r.operand)].row;
  Value* values = finished(r, across_lanes(r, std::move(rows)));
  Value* pointer = at(operands_[size_t(r.operand)].base, b_.CreateMul(row, stride));
  Value* mask = mask_of(count);
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, function);
  };
  llvm::BasicBlock *side_by_side = block("side_by_side"), *apart = block("apart"),
                   *end = block("stored");
  b_.CreateCondBr(b_.CreateICmpEQ(stride, number(size_of(r.dtype))), side_by_side, apart);
  b_.SetInsertPoint(side_by_side);
  b_.CreateMaskedStore(values, pointer, align, mask);
  b_.CreateBr(end);
  b_.SetInsertPoint(apart);
  b_.CreateMaskedScatter(values, lane_pointers(pointer, stride), align, mask);
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
}

void BodyEmitter::store_columns(const Reduction& r, Value* column, Value* mask, Value* values) {
  const llvm::Align align{uint64_t(size_of(r.dtype))};
  Value* pointer = address(r.operand, r.part, nullptr, column);
  const bool side_by_side = program_.operands[size_t(r.operand)].column == ColumnStep::contiguous;
  if (mask == nullptr && side_by_side) {
    b_.CreateAlignedStore(finished(r, values), pointer, align);
  } else {
    b_.CreateMaskedStore(finished(r, values), pointer, align, mask == nullptr ? all_lanes() : mask);
  }
}

/// Sums of bf16 are kept as f32 until they are stored.
Value* BodyEmitter::finished(const Reduction& r, Value* value) {
  return as_stored(r.dtype, r.dtype == DType::bf16 ? rounded_to_bf16(b_, cpu_, value) : value);
}

Value* BodyEmitter::join(const Reduction& r, Value* x, Value* y) {
  const DType dtype = r.dtype == DType::bf16 ? DType::f32 : r.dtype;
  Value* const operands[] = {x, y};
  return emit_scalar(b_, cpu_, r.maximum ? ScalarOp::maximum : ScalarOp::add, dtype, dtype,
                     operands);
}

void BodyEmitter::reduce(const NestInstruction& in, size_t index, Value* mask) {
  const bool along_row = program_.kind == NestKind::row_wise;
  const int part = along_row ? 0 : in.part;
  for (const Reduction& r : reductions()) {
    if (r.operand != in.operand || r.part != part) continue;
    Value*& sum = accumulators_[{r.operand, r.part, place_}];
    const int product = product_of_[index];
    Value* const next =
        product >= 0 ? fused(product, false, sum) : join(r, sum, values_[place_][size_t(in.a)]);
    const bool is_masked = mask != nullptr && !mutated(Mutant::padding_lanes_counted);
    sum = is_masked ? b_.CreateSelect(mask, next, sum) : next;
  }
}

/// Combines all lanes into one value by halving the vector: a fixed tree.
Value* BodyEmitter::across_lanes(const Reduction& r, Value* value) {
  const int half = mutated(Mutant::half_the_lanes_lost) ? shape_.lanes / 4 : shape_.lanes / 2;
  for (int width = half; width >= 1; width /= 2) {
    std::vector<int> low, high;
    for (int i = 0; i < width; ++i) {
      low.push_back(i);
      high.push_back(i + width);
    }
    value = join(r, b_.CreateShuffleVector(value, low), b_.CreateShuffleVector(value, high));
  }
  return b_.CreateExtractElement(value, uint64_t(0));
}

/// The same for as many vectors as there are lanes: the result of vector i is in lane i. Each level
/// joins halves of two vectors in one, so each sum has the tree of across_lanes() of its vector.
Value* BodyEmitter::across_lanes(const Reduction& r, Values rows) {
  const int lanes = shape_.lanes;
  const int half = mutated(Mutant::half_the_lanes_lost) ? lanes / 4 : lanes / 2;
  for (int width = lanes / 2; width >= 1; width /= 2) {
    // Of both vectors together, pieces of `width` lanes: the first and second half of each sum.
    std::vector<int> low, high;
    for (int piece = 0; piece < 2 * lanes; piece += 2 * width) {
      for (int i = 0; i < width; ++i) {
        low.push_back(piece + i);
        high.push_back(piece + (width > half ? 0 : width) + i);
      }
    }
    Values joined;
    for (size_t i = 0; i < rows.size(); i += 2) {
      Value* first = b_.CreateShuffleVector(rows[i], rows[i + 1], low);
      joined.push_back(join(r, first, b_.CreateShuffleVector(rows[i], rows[i + 1], high)));
    }
    rows = std::move(joined);
  }
  return rows.front();
}

}  // namespace graphc::core::cpu
