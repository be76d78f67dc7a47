// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_dot_product.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <vector>

#include "runtime/matrix_tiles.h"

namespace graphc::core::cpu {
namespace {

using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Value;

/// Rows whose sums are in registers at a time: sixteen sums, with two tiles of columns, hide the
/// latency of six cycles. The last rows form a block of half that size if it suffices.
constexpr int kRowsAtOnce = 8;
/// Pairs of terms in an iteration of the loop, and in a tile.
constexpr int kPairsOfTurn = 4, kPairs = kTileK / 2;
constexpr int64_t kPairBytes = 4;

class DotProductEmitter {
 public:
  DotProductEmitter(CodeModule& kernel, const TileProductLoop& loop, llvm::Function* function)
      : kernel_(kernel), loop_(loop), function_(function), b_(kernel.context()) {
    sums_type_ = llvm::FixedVectorType::get(b_.getFloatTy(), kTileColumns);
    pairs_type_ = llvm::FixedVectorType::get(b_.getBFloatTy(), kTileK);
  }

  void emit() {
    BasicBlock *entry = block("entry"), *head = block("rows"), *rows = block("eight"),
               *few = block("four"), *next = block("next"), *done = block("done");
    b_.SetInsertPoint(entry);
    Value* count = function_->getArg(6);
    b_.CreateCondBr(b_.CreateICmpSGT(count, number(0)), head, done);
    b_.SetInsertPoint(head);
    PHINode* row = b_.CreatePHI(b_.getInt64Ty(), 2);
    row->addIncoming(number(0), entry);
    Value* rest = b_.CreateSub(count, row);
    b_.CreateCondBr(b_.CreateICmpSGT(rest, number(kRowsAtOnce / 2)), rows, few);
    for (const auto& [start, height] : {std::pair{rows, kRowsAtOnce}, {few, kRowsAtOnce / 2}}) {
      b_.SetInsertPoint(start);
      emit_rows(row, height);
      b_.CreateBr(next);
    }
    b_.SetInsertPoint(next);
    row->addIncoming(b_.CreateAdd(row, number(kRowsAtOnce)), next);
    b_.CreateCondBr(b_.CreateICmpSGT(rest, number(kRowsAtOnce)), head, done);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
  }

 private:
  using Values = std::vector<Value*>;

  BasicBlock* block(const char* name) {
    return BasicBlock::Create(kernel_.context(), name, function_);
  }
  Value* number(int64_t value) { return b_.getInt64(uint64_t(value)); }
  Value* at(Value* pointer, Value* bytes) { return b_.CreateGEP(b_.getInt8Ty(), pointer, bytes); }
  Value* at(Value* pointer, int64_t bytes) { return at(pointer, number(bytes)); }

  /// The sums of `height` rows from `row` on: stored, or added to existing ones.
  void emit_rows(Value* row, int height) {
    Value* tile = b_.CreateSDiv(row, number(kTileRows));
    Value* row_of_tile = b_.CreateSRem(row, number(kTileRows));
    Value* left = at(at(function_->getArg(0), b_.CreateMul(tile, number(kTileBytes))),
                     b_.CreateMul(row_of_tile, number(kTileRowBytes)));
    const Values sums = emit_loop(left, height);
    Value* to = at(function_->getArg(3), b_.CreateMul(row, function_->getArg(4)));
    Values places;
    for (int m = 0; m < height; ++m) {
      Value* place = at(to, b_.CreateMul(function_->getArg(4), number(m)));
      for (int c = 0; c < loop_.column_tiles; ++c)
        places.push_back(at(place, int64_t(c) * kTileRowBytes));
    }
    BasicBlock *begin = block("begin"), *resume = block("resume"), *stored = block("stored");
    b_.CreateCondBr(function_->getArg(5), begin, resume);
    const llvm::Align align(4);
    b_.SetInsertPoint(begin);
    for (size_t i = 0; i < sums.size(); ++i) b_.CreateAlignedStore(sums[i], places[i], align);
    b_.CreateBr(stored);
    b_.SetInsertPoint(resume);
    for (size_t i = 0; i < sums.size(); ++i) {
      Value* before = b_.CreateAlignedLoad(sums_type_, places[i], align);
      b_.CreateAlignedStore(b_.CreateFAdd(before, sums[i]), places[i], align);
    }
    b_.CreateBr(stored);
    b_.SetInsertPoint(stored);
  }

  /// The sums of all terms: one vector for each row and tile of columns.
  Values emit_loop(Value* left_rows, int height) {
    const size_t sums = size_t(height * loop_.column_tiles);
    Value* zero = llvm::Constant::getNullValue(sums_type_);
    BasicBlock *before = b_.GetInsertBlock(), *head = block("k"), *done = block("summed");
    Value* tiles =
        b_.CreateSDiv(b_.CreateAdd(function_->getArg(2), number(kTileK - 1)), number(kTileK));
    constexpr int64_t turns = kPairs / kPairsOfTurn;
    Value* all = b_.CreateMul(tiles, number(turns));
    b_.CreateCondBr(b_.CreateICmpSGT(all, number(0)), head, done);
    b_.SetInsertPoint(head);
    PHINode *rest = carried(b_.getInt64Ty(), all, before),
            *left = carried(b_.getPtrTy(), left_rows, before),
            *panel = carried(b_.getPtrTy(), function_->getArg(1), before);
    std::vector<PHINode*> begun;
    for (size_t i = 0; i < sums; ++i) begun.push_back(carried(sums_type_, zero, before));
    Values next(begun.begin(), begun.end());
    for (int pair = 0; pair < kPairsOfTurn; ++pair) add_pair(next, left, panel, pair, height);
    // After the last pairs of a tile the next term tile begins.
    Value* last = b_.CreateICmpEQ(b_.CreateURem(rest, number(turns)), number(1));
    constexpr int64_t left_step = kPairsOfTurn * kPairBytes,
                      panel_step = kPairsOfTurn * kTileRowBytes;
    const int64_t left_skip = kLeftPairBytes - (turns - 1) * left_step,
                  panel_skip = loop_.column_tiles * kTileBytes - (turns - 1) * panel_step;
    rest->addIncoming(b_.CreateSub(rest, number(1)), head);
    left->addIncoming(at(left, b_.CreateSelect(last, number(left_skip), number(left_step))), head);
    panel->addIncoming(at(panel, b_.CreateSelect(last, number(panel_skip), number(panel_step))),
                       head);
    for (size_t i = 0; i < sums; ++i) begun[i]->addIncoming(next[i], head);
    b_.CreateCondBr(b_.CreateICmpSGT(rest, number(1)), head, done);
    b_.SetInsertPoint(done);
    for (Value*& sum : next) {
      PHINode* end = carried(sums_type_, zero, before);
      end->addIncoming(sum, head);
      sum = end;
    }
    return next;
  }

  PHINode* carried(llvm::Type* type, Value* initial, BasicBlock* before) {
    PHINode* value = b_.CreatePHI(type, 2);
    value->addIncoming(initial, before);
    return value;
  }

  void add_pair(Values& sums, Value* left, Value* panel, int pair, int height) {
    Values columns;
    for (int c = 0; c < loop_.column_tiles; ++c) {
      Value* from = at(panel, int64_t(c) * kTileBytes + int64_t(pair) * kTileRowBytes);
      columns.push_back(b_.CreateAlignedLoad(pairs_type_, from, llvm::Align(4)));
    }
    for (int m = 0; m < height; ++m) {
      Value* from = at(left, int64_t(m) * kTileRowBytes + int64_t(pair) * kPairBytes);
      Value* terms = b_.CreateAlignedLoad(b_.getInt32Ty(), from, llvm::Align(4));
      terms = b_.CreateBitCast(b_.CreateVectorSplat(kTileColumns, terms), pairs_type_);
      for (int c = 0; c < loop_.column_tiles; ++c) {
        Value*& sum = sums[size_t(m * loop_.column_tiles + c)];
        sum = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                                 {sum, terms, columns[size_t(c)]});
      }
    }
  }

  CodeModule& kernel_;
  const TileProductLoop loop_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  llvm::Type *sums_type_, *pairs_type_;
};

}  // namespace

void emit_dot_products(CodeModule& kernel, const TileProductLoop& loop, llvm::Function* function) {
  DotProductEmitter(kernel, loop, function).emit();
}

}  // namespace graphc::core::cpu
