// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_body.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "codegen/nest/contracted_products.h"
#include "codegen/targets/cpu/machine.h"
#include "codegen/targets/cpu/math/emit_scalar.h"

namespace graphc::core::cpu {

using llvm::Value;

BodyEmitter::BodyEmitter(const CpuFeatures& cpu, llvm::IRBuilderBase& builder,
                         const NestProgram& program)
    : cpu_(cpu), b_(builder), program_(program), shape_(program.tile) {
  // Divisions use no execution port that tile products need.
  if (is_beside_products(program.tile, cpu)) cpu_.divides_by_estimate = false;
  for (Values& values : values_) values.assign(program_.body.size(), nullptr);
  levels_ = levels_of(program_);
  product_of_.assign(program_.body.size(), -1);
  if (cpu_.has_fma) product_of_ = contracted_products(program_);
  is_fused_.assign(program_.body.size(), false);
  for (const int product : product_of_) {
    if (product >= 0) is_fused_[size_t(product)] = true;
  }
}

void BodyEmitter::set_arguments(std::vector<OperandValues> operands, Value* column_end) {
  operands_ = std::move(operands);
  column_end_ = column_end;
}

Value* BodyEmitter::number(int64_t value) { return b_.getInt64(uint64_t(value)); }

Value* BodyEmitter::at(Value* pointer, Value* bytes) {
  return b_.CreateGEP(b_.getInt8Ty(), pointer, bytes);
}

void BodyEmitter::run_level(Level level, std::span<const Place> places) {
  if (level == Level::row) {
    starts_.clear();
    for (const Place& place : places) set_starts(place.row, starts_of(place.row));
  }
  for (size_t i = 0; i < program_.body.size(); ++i) {
    if (levels_[i] != level) continue;
    for (place_ = 0; place_ < places.size(); ++place_) run(program_.body[i], i, places[place_]);
    for (; place_ < kMostPlaces; ++place_) values_[place_][i] = values_[0][i];
  }
  place_ = 0;
}

void BodyEmitter::run(const NestInstruction& in, size_t index, const Place& place) {
  Value*& value = values_[place_][index];
  switch (in.kind) {
    case NestOp::load:
      value = load_operand(in, place.row, place.column, place.mask);
      break;
    case NestOp::product:
      value = load_sum(in, place.sums);
      break;
    case NestOp::store:
      store_operand(in, place.row, place.column, place.mask);
      break;
    case NestOp::reduce:
      reduce(in, index, place.mask);
      break;
    case NestOp::scalar:
      value = scalar(in, index);
      break;
  }
}

int BodyEmitter::places_at_once() const {
  int long_ones = 0;
  for (size_t i = 0; i < program_.body.size(); ++i) {
    const NestInstruction& in = program_.body[i];
    if (levels_[i] != Level::element || in.kind != NestOp::scalar) continue;
    switch (in.op) {
      case ScalarOp::exp:
      case ScalarOp::expm1:
      case ScalarOp::log:
      case ScalarOp::log1p:
      case ScalarOp::tanh:
      case ScalarOp::sigmoid:
        ++long_ones;
        break;
      default:
        break;
    }
  }
  return long_ones >= 2 ? 2 : 1;
}

int BodyEmitter::moving_operands() const {
  std::set<std::pair<int, int>> places;
  for (size_t i = 0; i < program_.body.size(); ++i) {
    const NestInstruction& in = program_.body[i];
    if (levels_[i] != Level::element || (in.kind != NestOp::load && in.kind != NestOp::store))
      continue;
    const NestOperand& operand = program_.operands[size_t(in.operand)];
    if (operand.by_row && operand.kind != OperandKind::iota) places.insert({in.operand, in.part});
  }
  return int(places.size());
}

int BodyEmitter::cost_of_element() const {
  int cost = 0;
  for (size_t i = 0; i < program_.body.size(); ++i) {
    if (levels_[i] == Level::element && program_.body[i].kind == NestOp::scalar)
      cost += cost_of(program_.body[i].op);
  }
  return cost;
}

std::vector<FetchedPart> BodyEmitter::fetched_parts() const {
  // Writes come first: the line of a place that is both written and read is fetched once.
  std::set<std::tuple<bool, int, int>> places;
  for (size_t i = 0; i < program_.body.size(); ++i) {
    const NestInstruction& in = program_.body[i];
    if (levels_[i] != Level::element || (in.kind != NestOp::load && in.kind != NestOp::store))
      continue;
    const NestOperand& operand = program_.operands[size_t(in.operand)];
    const bool in_memory = operand.kind == OperandKind::load || operand.kind == OperandKind::store;
    if (in_memory && !operand.streaming && operand.by_row &&
        operand.column == ColumnStep::contiguous)
      places.insert({in.kind == NestOp::load, in.operand, in.part});
  }
  std::vector<FetchedPart> parts;
  for (const auto& [read, operand, part] : places) {
    const int64_t unit = size_of(program_.operands[size_t(operand)].dtype);
    parts.push_back({operand, part, unit, shape_.width() * unit, !read});
  }
  return parts;
}

Value* BodyEmitter::mask_at(Value* column) { return mask_of(b_.CreateSub(column_end_, column)); }

Value* BodyEmitter::mask_at(Value* column, Value* is_row) {
  return mask_of(b_.CreateSelect(is_row, b_.CreateSub(column_end_, column), number(0)));
}

Value* BodyEmitter::mask_of(Value* lanes) {
  auto* type = vector_type(b_, DType::i32, shape_.lanes);
  Value* left =
      b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, lanes, number(shape_.lanes)),
                     b_.getInt32Ty());
  return b_.CreateICmpSLT(lane_numbers(type), b_.CreateVectorSplat(unsigned(shape_.lanes), left));
}

Value* BodyEmitter::all_lanes() {
  return b_.CreateVectorSplat(unsigned(shape_.lanes), b_.getTrue());
}

Value* BodyEmitter::fused(int product, bool negated, Value* other) {
  const NestInstruction& in = program_.body[size_t(product)];
  Value* const x = values_[place_][size_t(in.a)];
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()},
                            {negated ? b_.CreateFNeg(x) : x, values_[place_][size_t(in.b)], other});
}

Value* BodyEmitter::scalar(const NestInstruction& in, size_t index) {
  if (is_fused_[index]) return nullptr;
  if (const int product = product_of_[index]; product >= 0) {
    const bool subtracts = in.op == ScalarOp::sub, is_first = product == in.a;
    Value* other = values_[place_][size_t(is_first ? in.b : in.a)];
    if (subtracts && is_first) other = b_.CreateFNeg(other);
    return fused(product, subtracts && !is_first, other);
  }
  Values operands;
  for (int operand : {in.a, in.b, in.c}) {
    if (operand >= 0) operands.push_back(values_[place_][size_t(operand)]);
  }
  return emit_scalar(b_, cpu_, in.op, in.dtype, program_.body[size_t(in.a)].dtype, operands);
}

}  // namespace graphc::core::cpu
