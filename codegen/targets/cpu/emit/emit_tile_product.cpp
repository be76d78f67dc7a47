// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_tile_product.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/targets/cpu/emit/emit_dot_product.h"
#include "codegen/targets/cpu/emit/emit_finish.h"
#include "codegen/targets/cpu/emit/emit_recomputed_sums.h"
#include "codegen/targets/cpu/emit/spread_products.h"
#include "ir/error.h"
#include "ir/mutant.h"
#include "runtime/matrix_tiles.h"

namespace graphc::core::cpu {
namespace {

using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Value;

/// Operations on tiles: instructions, or calls of functions that implement them.
class TileOperations {
 public:
  TileOperations(llvm::IRBuilderBase& builder, MatrixTiles tiles) : b_(builder), tiles_(tiles) {}

  void zero(int tile) { emit(llvm::Intrinsic::x86_tilezero, graphc_tilezero, {number(tile)}); }
  void load(int tile, Value* from, Value* row_bytes) {
    emit(llvm::Intrinsic::x86_tileloadd64, graphc_tileloadd, {number(tile), from, row_bytes});
  }
  /// Loads a tile that is not reread soon, bypassing the first-level cache.
  void load_streamed(int tile, Value* from, Value* row_bytes) {
    emit(llvm::Intrinsic::x86_tileloaddt164, graphc_tileloadd, {number(tile), from, row_bytes});
  }
  void store(int tile, Value* to, Value* row_bytes) {
    emit(llvm::Intrinsic::x86_tilestored64, graphc_tilestored, {number(tile), to, row_bytes});
  }
  void multiply_add(int sums, int left, int right) {
    emit(llvm::Intrinsic::x86_tdpbf16ps, graphc_tdpbf16ps,
         {number(sums), number(left), number(right)});
  }

 private:
  /// The number of a register. LLVM expects eight bits and would take any other width for the first
  /// register; functions take 64.
  Value* number(int tile) {
    GRAPHC_CHECK(tile >= 0 && tile < 8, "there is no matrix tile {}", tile);
    return tiles_ == MatrixTiles::hardware ? static_cast<Value*>(b_.getInt8(uint8_t(tile)))
                                           : b_.getInt64(uint64_t(tile));
  }

  template <typename Function>
  void emit(llvm::Intrinsic::ID instruction, Function* function, std::vector<Value*> arguments) {
    if (tiles_ == MatrixTiles::hardware) {
      b_.CreateIntrinsic(instruction, {}, arguments);
      return;
    }
    GRAPHC_CHECK(tiles_ == MatrixTiles::software, "a product by matrix tiles without any");
    std::vector<llvm::Type*> types;
    for (Value* argument : arguments) types.push_back(argument->getType());
    Value* address =
        b_.CreateIntToPtr(b_.getInt64(reinterpret_cast<uint64_t>(function)), b_.getPtrTy());
    b_.CreateCall(llvm::FunctionType::get(b_.getVoidTy(), types, false), address, arguments);
  }

  llvm::IRBuilderBase& b_;
  const MatrixTiles tiles_;
};

class TileProductEmitter {
 public:
  TileProductEmitter(CodeModule& kernel, const TileProductLoop& loop, const FinishRows& finish,
                     llvm::Function* function)
      : kernel_(kernel),
        loop_(loop),
        finish_(finish),
        function_(function),
        b_(kernel.context()),
        tiles_(b_, kernel.cpu().matrix_tiles) {}

  void emit() {
    b_.SetInsertPoint(block("entry"));
    if (loop_.bf16_parts == 1) {
      begin_sums();
    } else {
      for (int i = 0; i < loop_.row_tiles * loop_.column_tiles; ++i) tiles_.zero(i);
    }
    emit_loop();
    if (loop_.bf16_parts == 1) {
      store_sums(function_->getArg(3), function_->getArg(4));
      b_.CreateRetVoid();
      return;
    }
    BasicBlock *begin = block("begin"), *resume = block("resume");
    b_.CreateCondBr(function_->getArg(5), begin, resume);
    b_.SetInsertPoint(begin);
    store_sums(function_->getArg(3), function_->getArg(4));
    Value *sums = function_->getArg(3), *sums_row = function_->getArg(4);
    emit_recomputed_sums(kernel_, b_, function_, loop_, {sums, sums_row, sums, sums_row, true});
    b_.CreateRetVoid();
    b_.SetInsertPoint(resume);
    add_sums();
    b_.CreateRetVoid();
  }

 private:
  BasicBlock* block(const char* name) {
    return BasicBlock::Create(kernel_.context(), name, function_);
  }
  Value* number(int64_t value) { return b_.getInt64(uint64_t(value)); }
  Value* at(Value* pointer, Value* bytes) { return b_.CreateGEP(b_.getInt8Ty(), pointer, bytes); }
  Value* at(Value* pointer, int64_t bytes) { return at(pointer, number(bytes)); }

  int sums_of(int row, int column) const { return row * loop_.column_tiles + column; }

  /// Starts the sums at zero or at the sums of earlier calls: a sum of bf16 continues.
  void begin_sums() {
    BasicBlock *begin = block("begin"), *resume = block("resume"), *begun = block("begun");
    b_.CreateCondBr(function_->getArg(5), begin, resume);
    b_.SetInsertPoint(begin);
    for (int i = 0; i < loop_.row_tiles * loop_.column_tiles; ++i) tiles_.zero(i);
    b_.CreateBr(begun);
    b_.SetInsertPoint(resume);
    for_each_sum(function_->getArg(3), function_->getArg(4),
                 [&](int tile, Value* place) { tiles_.load(tile, place, function_->getArg(4)); });
    b_.CreateBr(begun);
    b_.SetInsertPoint(begun);
  }

  /// The loop-carried values of the terms, at the beginning of a term tile.
  struct TermTile {
    Value *left, *panel;
    Value* clock;  ///< its value after this tile if no row is finished
  };

  /// Registers 0 to 3 hold sums, 4 and 5 left tiles, 6 and 7 tiles of the matrix.
  void emit_loop() {
    Value* count =
        b_.CreateSDiv(b_.CreateAdd(function_->getArg(2), number(kTileK - 1)), number(kTileK));
    Value* clock_place = at(function_->getArg(7), int64_t(offsetof(WaitingTile, clock)));
    Value* clock_before = b_.CreateLoad(b_.getInt64Ty(), clock_place);
    at_once_ = b_.CreateLoad(b_.getInt64Ty(),
                             at(function_->getArg(7), int64_t(offsetof(WaitingTile, at_once))));
    std::optional<WaitingRows> rows;
    if (loop_.row_tiles == 2 && loop_.column_tiles == 2)
      rows.emplace(kernel_, b_, finish_, function_, function_->getArg(7));
    Value* is_whole = rows ? rows->is_whole() : b_.getFalse();
    BasicBlock *before = b_.GetInsertBlock(), *head = block("k"), *done = block("done");
    b_.CreateCondBr(b_.CreateICmpSGT(count, number(0)), head, done);
    b_.SetInsertPoint(head);
    PHINode* rest = carried(count, before);
    PHINode* left = carried(function_->getArg(0), before);
    PHINode* panel = carried(function_->getArg(1), before);
    PHINode* clock = carried(clock_before, before);
    const TermTile tile{left, panel, b_.CreateSub(clock, number(1))};
    Value* later = emit_term_tile(tile, rows ? &*rows : nullptr, is_whole);
    BasicBlock* latch = b_.GetInsertBlock();
    rest->addIncoming(b_.CreateSub(rest, number(1)), latch);
    left->addIncoming(at(left, int64_t(loop_.bf16_parts) * kLeftPairBytes), latch);
    panel->addIncoming(at(panel, loop_.bf16_parts * part_bytes()), latch);
    clock->addIncoming(later, latch);
    b_.CreateCondBr(b_.CreateICmpSGT(rest, number(1)), head, done);
    b_.SetInsertPoint(done);
    PHINode* clock_behind = carried(clock_before, before);
    clock_behind->addIncoming(later, latch);
    b_.CreateStore(clock_behind, clock_place);
  }

  /// Multiplies, and finishes due rows of the previous tile: one of them in line if `in_line` is
  /// set and the tile is whole, the others in a call. Returns the new value of the clock.
  Value* emit_term_tile(const TermTile& tile, WaitingRows* in_line, Value* is_whole) {
    Value* due = b_.CreateICmpSLE(tile.clock, number(0));
    BasicBlock *behind = block("behind"), *call = block("call"), *alone = block("alone");
    std::vector<std::pair<Value*, BasicBlock*>> clocks, calls;
    if (in_line != nullptr) {
      BasicBlock* beside = block("beside");
      b_.CreateCondBr(b_.CreateAnd(due, is_whole), beside, alone);
      b_.SetInsertPoint(beside);
      multiply_term_tile(tile.left, tile.panel);
      in_line->finish_one();
      // No body has a loop or a branch today.
      if (b_.GetInsertBlock() == beside) spread_products(*beside);
      clocks.emplace_back(in_line->clock(), b_.GetInsertBlock());
      calls.emplace_back(b_.CreateSub(at_once_, number(1)), b_.GetInsertBlock());
      b_.CreateCondBr(b_.CreateICmpSGT(calls.back().first, number(0)), call, behind);
    } else {
      b_.CreateBr(alone);
    }
    b_.SetInsertPoint(alone);
    multiply_term_tile(tile.left, tile.panel);
    clocks.emplace_back(tile.clock, alone);
    calls.emplace_back(at_once_, alone);
    b_.CreateCondBr(due, call, behind);
    b_.SetInsertPoint(call);
    PHINode* rows = b_.CreatePHI(b_.getInt64Ty(), 2);
    for (const auto& [count, from] : calls) rows->addIncoming(count, from);
    clocks.emplace_back(b_.CreateCall(finish_.function, {function_->getArg(7), rows}), call);
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
    PHINode* now = b_.CreatePHI(b_.getInt64Ty(), 3);
    for (const auto& [clock, from] : clocks) now->addIncoming(clock, from);
    return now;
  }

  PHINode* carried(Value* initial, BasicBlock* before) {
    PHINode* value = b_.CreatePHI(initial->getType(), 2);
    value->addIncoming(initial, before);
    return value;
  }

  /// Bytes of the tiles of one part of a term tile in a panel.
  int64_t part_bytes() const { return int64_t(loop_.column_tiles) * kTileBytes; }

  /// For each part of the matrix, the left parts that it is multiplied by: the last one is the
  /// first of the next list and stays loaded. With three parts that is 14 loads of two tiles for 24
  /// products.
  std::vector<std::vector<int>> left_parts() const {
    if (loop_.bf16_parts == 1) return {{0}};
    std::vector<std::vector<int>> parts{{1, 0}, {0}};
    if (loop_.bf16_parts == 3) parts = {{2, 0, 1}, {1, 0}, {0}};
    if (mutated(Mutant::smallest_parts_not_multiplied)) parts.pop_back();
    return parts;
  }

  /// Loads precede the products that need them: a processor starts them early, and a product that
  /// waits for its own load delays those behind it (17 % for products whose panel is in the
  /// second-level cache).
  void multiply_term_tile(Value* left, Value* panel) {
    const std::vector<std::vector<int>> order = left_parts();
    int loaded = -1;
    for (size_t right_part = 0; right_part < order.size(); ++right_part) {
      for (size_t i = 0; i < order[right_part].size(); ++i) {
        const int left_part = order[right_part][i];
        const bool new_left = left_part != std::exchange(loaded, left_part), new_right = i == 0;
        for (int tile = 0; tile < std::max(loop_.row_tiles, loop_.column_tiles); ++tile) {
          if (new_left && tile < loop_.row_tiles) load_left(left, left_part, tile);
          if (new_right && tile < loop_.column_tiles) load_right(panel, int(right_part), tile);
        }
        for (int row = 0; row < loop_.row_tiles; ++row) {
          for (int column = 0; column < loop_.column_tiles; ++column)
            tiles_.multiply_add(sums_of(row, column), 4 + row, 6 + column);
        }
      }
    }
  }

  void load_left(Value* left, int part, int row) {
    Value* from = at(left, int64_t(part) * kLeftPairBytes + int64_t(row) * kTileBytes);
    // The last part is multiplied only once.
    if (part + 1 == loop_.bf16_parts && loop_.panel_stays) {
      tiles_.load_streamed(4 + row, from, number(kTileRowBytes));
    } else {
      tiles_.load(4 + row, from, number(kTileRowBytes));
    }
  }

  void load_right(Value* panel, int part, int column) {
    Value* from = at(panel, int64_t(part) * part_bytes() + int64_t(column) * kTileBytes);
    if (loop_.panel_stays) {
      tiles_.load(6 + column, from, number(kTileRowBytes));
    } else {
      tiles_.load_streamed(6 + column, from, number(kTileRowBytes));
    }
  }

  template <typename Visit>
  void for_each_sum(Value* sums, Value* row_bytes, const Visit& visit) {
    for (int row = 0; row < loop_.row_tiles; ++row) {
      Value* rows = at(sums, b_.CreateMul(row_bytes, number(int64_t(row) * kTileRows)));
      for (int column = 0; column < loop_.column_tiles; ++column)
        visit(sums_of(row, column), at(rows, int64_t(column) * kTileRowBytes));
    }
  }

  void store_sums(Value* to, Value* row_bytes) {
    for_each_sum(to, row_bytes,
                 [&](int tile, Value* place) { tiles_.store(tile, place, row_bytes); });
  }

  /// The terms of a call are summed separately: the error of the total grows with the number of
  /// terms of a call plus the number of calls, not with their product.
  void add_sums() {
    const int64_t own_row = int64_t(loop_.column_tiles) * kTileRowBytes;
    const int64_t rows = int64_t(loop_.row_tiles) * kTileRows;
    llvm::AllocaInst* own = b_.CreateAlloca(b_.getInt8Ty(), number(own_row * rows));
    own->setAlignment(llvm::Align(64));
    store_sums(own, number(own_row));
    emit_recomputed_sums(kernel_, b_, function_, loop_,
                         {own, number(own_row), function_->getArg(3), function_->getArg(4), false});
    BasicBlock *before = b_.GetInsertBlock(), *head = block("row"), *done = block("added");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    PHINode* row = b_.CreatePHI(b_.getInt64Ty(), 2);
    row->addIncoming(number(0), before);
    Value* to = at(function_->getArg(3), b_.CreateMul(row, function_->getArg(4)));
    Value* from = at(own, b_.CreateMul(row, number(own_row)));
    const int64_t vector_bytes = kernel_.cpu().vector_lanes_f32 * int64_t(sizeof(float));
    auto* vector =
        llvm::FixedVectorType::get(b_.getFloatTy(), unsigned(kernel_.cpu().vector_lanes_f32));
    for (int64_t offset = 0; offset < own_row; offset += vector_bytes) {
      const llvm::Align align(4);
      Value* sum = b_.CreateAlignedLoad(vector, at(to, offset), align);
      Value* terms = b_.CreateAlignedLoad(vector, at(from, offset), align);
      b_.CreateAlignedStore(b_.CreateFAdd(sum, terms), at(to, offset), align);
    }
    Value* next = b_.CreateAdd(row, number(1));
    row->addIncoming(next, head);
    b_.CreateCondBr(b_.CreateICmpSLT(next, number(rows)), head, done);
    b_.SetInsertPoint(done);
  }

  CodeModule& kernel_;
  const TileProductLoop loop_;
  const FinishRows& finish_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  TileOperations tiles_;
  Value* at_once_ = nullptr;  ///< rows finished at a time
};

}  // namespace

llvm::Function* define_tile_product(CodeModule& kernel, const TileProductLoop& loop,
                                    const FinishRows* finish) {
  const std::string name =
      fmt::format("tile_product_{}x{}{}", loop.row_tiles, loop.column_tiles,
                  loop.bf16_parts == 1 ? "" : fmt::format("_in_{}_parts", loop.bf16_parts));
  if (llvm::Function* known = kernel.module().getFunction(name)) return known;
  llvm::LLVMContext& context = kernel.context();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context),
             *number = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(
      llvm::Type::getVoidTy(context),
      {pointer, pointer, number, pointer, number, llvm::Type::getInt1Ty(context), number, pointer},
      false);
  llvm::Function* function = kernel.define(name, type, false);
  if (kernel.cpu().matrix_tiles == MatrixTiles::dot_products) {
    emit_dot_products(kernel, loop, function);
  } else {
    TileProductEmitter(kernel, loop, *finish, function).emit();
  }
  return function;
}

}  // namespace graphc::core::cpu
