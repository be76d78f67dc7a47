// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/emit_finish.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>

#include "codegen/cpu/emit_fetch.h"
#include "codegen/cpu/emit_loops.h"
#include "ir/mutant.h"

namespace graphc::cpu {
namespace {

class FinishEmitter : private LoopEmitter {
 public:
  FinishEmitter(CodeModule& kernel, const NestProgram& program, const TileShape& shape,
                llvm::Function* function)
      : LoopEmitter(builder_),
        builder_(kernel.context()),
        program_(program),
        shape_(shape),
        body_(kernel, builder_, program, shape) {
    function_ = function;
  }

  void emit() {
    b_.SetInsertPoint(block("entry"));
    Value* waiting = function_->getArg(0);
    const auto place = [&](size_t offset) { return at(waiting, int64_t(offset)); };
    const auto field = [&](size_t offset) { return load(b_.getInt64Ty(), place(offset)); };
    Value* arguments = load(b_.getPtrTy(), place(offsetof(WaitingTile, arguments)));
    operands_ = load_operands(
        b_, program_,
        load(b_.getPtrTy(), at(arguments, int64_t(offsetof(NestArguments, operands)))));
    column_end_ =
        load(b_.getInt64Ty(), at(arguments, int64_t(offsetof(NestArguments, column_end))));
    body_.set_arguments(operands_, column_end_);
    body_.run_level(Level::once);
    Value* next = field(offsetof(WaitingTile, next));
    Value* end = field(offsetof(WaitingTile, end));
    Value* until = b_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smin, end, b_.CreateAdd(next, field(offsetof(WaitingTile, at_once))));
    const RowsFinisher::Tile tile{field(offsetof(WaitingTile, row)),
                                  field(offsetof(WaitingTile, column)),
                                  load(b_.getPtrTy(), place(offsetof(WaitingTile, sums))),
                                  field(offsetof(WaitingTile, sums_row)), end};
    ahead_row_ = field(offsetof(WaitingTile, ahead_row));
    ahead_column_ = field(offsetof(WaitingTile, ahead_column));
    const int at_once = body_.places_at_once();
    RowsFinisher finisher(b_, body_, shape_, at_once, function_);
    loop(next, until, at_once, "finish", [&](I64 m) {
      for (int i = 0; i < at_once; ++i) fetch(b_.CreateAdd(m, number(i)));
      finisher.finish(tile, m, column_end_);
    });
    b_.CreateStore(until, place(offsetof(WaitingTile, next)));
    b_.CreateRet(b_.CreateSelect(b_.CreateICmpSLT(until, end), field(offsetof(WaitingTile, every)),
                                 number(kNothingWaits)));
  }

 private:
  /// The lines in which what row `m` reads and writes ends: where they begin, the block of columns
  /// before has ended.
  void fetch(I64 m) {
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

  llvm::IRBuilder<> builder_;
  const NestProgram& program_;
  const TileShape shape_;
  BodyEmitter body_;
  std::vector<OperandValues> operands_;
  Value* column_end_ = nullptr;
  I64 ahead_row_ = nullptr, ahead_column_ = nullptr;
};

}  // namespace

llvm::Function* define_finish_rows(CodeModule& kernel, const NestProgram& program,
                                   const TileShape& shape) {
  constexpr const char* kName = "finish_rows";
  if (llvm::Function* known = kernel.module().getFunction(kName)) return known;
  llvm::LLVMContext& context = kernel.context();
  auto* type = llvm::FunctionType::get(llvm::Type::getInt64Ty(context),
                                       {llvm::PointerType::getUnqual(context)}, false);
  llvm::Function* function = kernel.define(kName, type, false);
  FinishEmitter(kernel, program, shape, function).emit();
  return function;
}

void RowsFinisher::finish(const Tile& tile, Value* m, Value* column_end) {
  // Behind the last row it comes again, with no lanes.
  std::vector<BodyEmitter::Place> rows;
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
  Value* end = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, b_.CreateAdd(tile.column, number(shape_.width())), column_end);
  loop(tile.column, end, shape_.lanes, "vector", [&](I64 column) {
    std::vector<BodyEmitter::Place> places = rows;
    Value* offset = b_.CreateMul(b_.CreateSub(column, tile.column), number(4));
    for (size_t i = 0; i < places.size(); ++i) {
      places[i].column = column;
      places[i].mask = i == 0 ? body_.mask_at(column) : body_.mask_at(column, is_row[i]);
      places[i].sums = at(places[i].sums, offset);
    }
    body_.run_level(Level::element, places);
  });
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

}  // namespace graphc::cpu
