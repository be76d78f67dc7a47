// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_finish.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>

#include "codegen/targets/cpu/emit/emit_fetch.h"
#include "codegen/targets/cpu/emit/emit_loops.h"
#include "ir/mutant.h"

namespace graphc::core::cpu {
using llvm::BasicBlock;
using llvm::Value;

WaitingRows::WaitingRows(CodeModule& kernel, llvm::IRBuilderBase& builder, const FinishRows& finish,
                         llvm::Function* function, Value* waiting)
    : LoopEmitter(builder),
      program_(finish.program),
      shape_(finish.shape),
      body_(kernel.cpu(), builder, finish.program),
      waiting_(waiting) {
  function_ = function;
  Value* arguments = load(b_.getPtrTy(), at(waiting_, int64_t(offsetof(WaitingTile, arguments))));
  operands_ = load_operands(
      b_, program_, load(b_.getPtrTy(), at(arguments, int64_t(offsetof(NestArguments, operands)))));
  column_end_ = load(b_.getInt64Ty(), at(arguments, int64_t(offsetof(NestArguments, column_end))));
  body_.set_arguments(operands_, column_end_);
  body_.run_level(Level::once);
  tile_ = {field(offsetof(WaitingTile, row)), field(offsetof(WaitingTile, column)),
           load(b_.getPtrTy(), at(waiting_, int64_t(offsetof(WaitingTile, sums)))),
           field(offsetof(WaitingTile, sums_row)), field(offsetof(WaitingTile, end))};
  ahead_row_ = field(offsetof(WaitingTile, ahead_row));
  ahead_column_ = field(offsetof(WaitingTile, ahead_column));
}

Value* WaitingRows::field(size_t offset) {
  return load(b_.getInt64Ty(), at(waiting_, int64_t(offset)));
}

void WaitingRows::finish(Value* rows) {
  Value* next = field(offsetof(WaitingTile, next));
  Value* until =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, tile_.end, b_.CreateAdd(next, rows));
  RowsFinisher finisher(b_, body_, shape_, at_once(), function_);
  // Of two interleaved rows the second may not be due yet, and would be finished twice.
  RowsFinisher::Tile tile = tile_;
  if (!mutated(Mutant::row_behind_finished_again)) tile.end = until;
  loop(next, until, at_once(), "finish", [&](I64 m) {
    for (int i = 0; i < at_once(); ++i) fetch(b_.CreateAdd(m, number(i)));
    finisher.finish(tile, m, column_end_);
  });
  b_.CreateStore(until, at(waiting_, int64_t(offsetof(WaitingTile, next))));
}

void WaitingRows::finish_one() {
  Value* next = field(offsetof(WaitingTile, next));
  b_.CreateStore(b_.CreateAdd(next, number(1)), at(waiting_, int64_t(offsetof(WaitingTile, next))));
  fetch(next);
  RowsFinisher(b_, body_, shape_, 1, function_).finish_in_line(tile_, next);
}

Value* WaitingRows::is_whole() {
  return b_.CreateICmpSLE(b_.CreateAdd(tile_.column, number(shape_.width())), column_end_);
}

Value* WaitingRows::clock() {
  Value* is_more = b_.CreateICmpSLT(field(offsetof(WaitingTile, next)), tile_.end);
  return b_.CreateSelect(is_more, field(offsetof(WaitingTile, every)), number(kNothingWaits));
}

/// Fetches the memory that row `m` of the next tile reads and writes: the line in which each piece
/// of at most a line's bytes ends. The line in which the first piece begins is that in which the
/// previous block of columns ends.
void WaitingRows::fetch(I64 m) {
  Value* row = b_.CreateAdd(ahead_row_, m);
  for (const FetchedPart& part : body_.fetched_parts()) {
    const OperandValues& operand = operands_[size_t(part.operand)];
    Value* first = at(operand.base, b_.CreateMul(row, operand.row));
    if (part.part > 0) first = at(first, b_.CreateMul(operand.part, number(part.part)));
    first = at(first, b_.CreateMul(ahead_column_, number(part.unit)));
    for (int64_t end = std::min(part.bytes, kLineBytes);; end += kLineBytes) {
      fetch_line(b_, at(first, std::min(end, part.bytes) - 1), CacheLevel::second, part.written);
      if (end >= part.bytes) break;
    }
  }
}

FinishRows define_finish_rows(CodeModule& kernel, const NestProgram& program,
                              const TileShape& shape) {
  llvm::LLVMContext& context = kernel.context();
  llvm::Type* number = llvm::Type::getInt64Ty(context);
  auto* type =
      llvm::FunctionType::get(number, {llvm::PointerType::getUnqual(context), number}, false);
  FinishRows finish{program, shape, kernel.define("finish_rows", type, false)};
  llvm::IRBuilder<> builder(BasicBlock::Create(context, "entry", finish.function));
  WaitingRows rows(kernel, builder, finish, finish.function, finish.function->getArg(0));
  rows.finish(finish.function->getArg(1));
  builder.CreateRet(rows.clock());
  return finish;
}

std::pair<RowsFinisher::Places, RowsFinisher::Values> RowsFinisher::begin(const Tile& tile,
                                                                          Value* m) {
  // After the last row, repeat it with an empty mask.
  Places rows;
  Values is_row;
  Value* last = b_.CreateSub(tile.end, number(1));
  for (int i = 0; i < at_once_; ++i) {
    Value* wanted = b_.CreateAdd(m, number(i));
    Value* end = mutated(Mutant::last_row_of_pair_lost) ? last : tile.end;
    is_row.push_back(i == 0 ? nullptr : b_.CreateICmpSLT(wanted, end));
    Value* own = i == 0 ? m : b_.CreateSelect(is_row.back(), wanted, last);
    rows.push_back({b_.CreateAdd(tile.row, own), nullptr, nullptr,
                    at(tile.sums, b_.CreateMul(own, tile.sums_row))});
  }
  body_.run_level(Level::row, rows);
  return {rows, is_row};
}

void RowsFinisher::finish_vector(const Tile& tile, const Places& rows, const Values& is_row,
                                 I64 column, bool whole) {
  Places places = rows;
  Value* offset = b_.CreateMul(b_.CreateSub(column, tile.column), number(4));
  for (size_t i = 0; i < places.size(); ++i) {
    places[i].column = column;
    if (!whole) places[i].mask = i == 0 ? body_.mask_at(column) : body_.mask_at(column, is_row[i]);
    places[i].sums = at(places[i].sums, offset);
  }
  body_.run_level(Level::element, places);
}

void RowsFinisher::finish(const Tile& tile, Value* m, Value* column_end) {
  const auto [rows, is_row] = begin(tile, m);
  Value* end = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, b_.CreateAdd(tile.column, number(shape_.width())), column_end);
  loop(tile.column, end, shape_.lanes, "vector",
       [&](I64 column) { finish_vector(tile, rows, is_row, column, false); });
}

void RowsFinisher::finish_in_line(const Tile& tile, Value* m) {
  const auto [rows, is_row] = begin(tile, m);
  for (int v = 0; v < shape_.vectors; ++v)
    finish_vector(tile, rows, is_row, b_.CreateAdd(tile.column, number(v * shape_.lanes)), true);
}

std::vector<OperandValues> load_operands(llvm::IRBuilderBase& b, const NestProgram& program,
                                         llvm::Value* operands) {
  const auto field = [&](llvm::Type* type, size_t operand, size_t offset) {
    const auto bytes = operand * sizeof(NestOperandArguments) + offset;
    return b.CreateLoad(type, b.CreateGEP(b.getInt8Ty(), operands, b.getInt64(bytes)));
  };
  std::vector<OperandValues> loaded;
  for (size_t i = 0; i < program.operands.size(); ++i) {
    const bool iota = program.operands[i].kind == OperandKind::iota;
    llvm::Type* base = iota ? static_cast<llvm::Type*>(b.getInt64Ty()) : b.getPtrTy();
    loaded.push_back({field(base, i, offsetof(NestOperandArguments, base)),
                      field(b.getInt64Ty(), i, offsetof(NestOperandArguments, row)),
                      field(b.getInt64Ty(), i, offsetof(NestOperandArguments, part)),
                      field(b.getInt64Ty(), i, offsetof(NestOperandArguments, column))});
  }
  return loaded;
}

}  // namespace graphc::core::cpu
