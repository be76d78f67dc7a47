// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_recomputed_sums.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/targets/cpu/emit/emit_loops.h"
#include "ir/mutant.h"
#include "runtime/matrix_tiles.h"

namespace graphc::core::cpu {
namespace {

/// void (ptr a, ptr panel, i64 k, ptr sums, i64 row_bytes, ptr total, i64 total_row, i1 first): the
/// first three parameters as in define_tile_product(), the others from RecomputedSums.
class MendEmitter : private LoopEmitter {
 public:
  MendEmitter(CodeModule& kernel, const TileProductLoop& of, llvm::Function* function)
      : LoopEmitter(builder_), builder_(kernel.context()), of_(of) {
    function_ = function;
    lanes_ = kernel.cpu().vector_lanes_f32;
  }

  void emit() {
    b_.SetInsertPoint(block("entry"));
    when(any_is_not_finite(), [&] {
      loop(number(0), number(int64_t(of_.row_tiles) * kTileRows), 1, "row", [&](I64 row) {
        loop(number(0), number(int64_t(of_.column_tiles) * kTileColumns), 1, "column",
             [&](I64 column) { mend(row, column); });
      });
    });
    b_.CreateRetVoid();
  }

 private:
  Value* argument(unsigned index) { return function_->getArg(index); }
  Value* row_of_sums(I64 row) { return at(argument(3), b_.CreateMul(row, argument(4))); }

  /// Its product with zero is NaN.
  Value* is_not_finite(Value* x) {
    Value* nothing = b_.CreateFMul(x, llvm::Constant::getNullValue(x->getType()));
    return b_.CreateFCmpUNO(nothing, nothing);
  }

  Value* any_is_not_finite() {
    auto* vector = llvm::FixedVectorType::get(b_.getFloatTy(), unsigned(lanes_));
    Value* zero = llvm::Constant::getNullValue(vector);
    const int64_t vector_bytes = lanes_ * int64_t(sizeof(float));
    const int64_t vectors = int64_t(of_.column_tiles) * kTileRowBytes / vector_bytes;
    // Several rows at a time, each vector with its own chain of additions.
    constexpr int64_t kRowsOfTurn = 4;
    const Values found =
        loop(number(0), number(int64_t(of_.row_tiles) * kTileRows), kRowsOfTurn, "rows",
             Values(size_t(kRowsOfTurn * vectors), zero), [&](I64 first, const Values& before) {
               Values all;
               for (Value* chain : before) {
                 const auto i = int64_t(all.size());
                 Value* row = row_of_sums(b_.CreateAdd(first, number(i / vectors)));
                 Value* sums = b_.CreateAlignedLoad(vector, at(row, i % vectors * vector_bytes),
                                                    llvm::Align(4));
                 all.push_back(b_.CreateFAdd(chain, b_.CreateFMul(sums, zero)));
               }
               return all;
             });
    Value* all = found[0];
    for (size_t i = 1; i < found.size(); ++i) all = b_.CreateFAdd(all, found[i]);
    return b_.CreateOrReduce(b_.CreateFCmpUNO(all, all));
  }

  /// The sum continues from the total of the earlier terms, as that of f32 does: these terms alone
  /// may overflow although the whole sum does not. Where there are earlier terms, nothing is left
  /// to be added.
  void mend(I64 row, I64 column) {
    Value* offset = b_.CreateMul(column, number(sizeof(float)));
    Value* place = at(row_of_sums(row), offset);
    when(is_not_finite(load(b_.getFloatTy(), place)), [&] {
      Value* total = at(at(argument(5), b_.CreateMul(row, argument(6))), offset);
      Value* zero = llvm::ConstantFP::get(b_.getFloatTy(), 0);
      Value* begun = b_.CreateSelect(argument(7), zero, load(b_.getFloatTy(), total));
      const Values sum =
          loop(number(0), argument(2), 1, "k", {begun}, [&](I64 k, const Values& before) {
            Value* terms[] = {left(row, k), right(k, column), before[0]};
            return Values{b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {b_.getFloatTy()}, terms)};
          });
      if (mutated(Mutant::infinities_in_parts_not_recomputed)) return;
      b_.CreateStore(zero, place);
      b_.CreateStore(sum[0], total);
    });
  }

  I64 times(I64 value, int64_t factor) { return b_.CreateMul(value, number(factor)); }
  I64 tile_of(I64 index, int64_t extent) { return b_.CreateUDiv(index, number(extent)); }
  I64 within(I64 index, int64_t extent) { return b_.CreateURem(index, number(extent)); }

  Value* left(I64 row, I64 k) {
    I64 tile = times(tile_of(row, kTileRows), kTileBytes);
    I64 terms = times(tile_of(k, kTileK), int64_t(of_.bf16_parts) * kLeftPairBytes);
    I64 inside = b_.CreateAdd(times(within(row, kTileRows), kTileRowBytes),
                              times(within(k, kTileK), sizeof(uint16_t)));
    return whole(at(argument(0), b_.CreateAdd(tile, b_.CreateAdd(terms, inside))), kLeftPairBytes);
  }

  Value* right(I64 k, I64 column) {
    const int64_t part_bytes = int64_t(of_.column_tiles) * kTileBytes;
    I64 terms = times(tile_of(k, kTileK), of_.bf16_parts * part_bytes);
    I64 tile = times(tile_of(column, kTileColumns), kTileBytes);
    I64 pair = times(tile_of(within(k, kTileK), 2), kTileRowBytes);
    I64 inside = b_.CreateAdd(times(within(column, kTileColumns), 2 * sizeof(uint16_t)),
                              times(within(k, 2), sizeof(uint16_t)));
    I64 offset = b_.CreateAdd(b_.CreateAdd(terms, tile), b_.CreateAdd(pair, inside));
    return whole(at(argument(1), offset), part_bytes);
  }

  /// The sum of the parts, which is exact when summed from the smallest up.
  Value* whole(Value* first, int64_t part_bytes) {
    Value* sum = nullptr;
    for (int part = of_.bf16_parts; part-- > 0;) {
      Value* bits = load(b_.getInt16Ty(), at(first, part * part_bytes));
      Value* high = b_.CreateShl(b_.CreateZExt(bits, b_.getInt32Ty()), 16);
      Value* number = b_.CreateBitCast(high, b_.getFloatTy());
      sum = sum == nullptr ? number : b_.CreateFAdd(sum, number);
    }
    return sum;
  }

  llvm::IRBuilder<> builder_;
  const TileProductLoop of_;
  int lanes_ = 1;
};

}  // namespace

void emit_recomputed_sums(CodeModule& kernel, llvm::IRBuilderBase& builder,
                          llvm::Function* tile_product, const TileProductLoop& loop,
                          const RecomputedSums& recomputed) {
  const std::string name = "mend_sums_of_" + tile_product->getName().str();
  llvm::Function* function = kernel.module().getFunction(name);
  if (function == nullptr) {
    llvm::Type *pointer = builder.getPtrTy(), *number = builder.getInt64Ty();
    function = kernel.define(name,
                             llvm::FunctionType::get(builder.getVoidTy(),
                                                     {pointer, pointer, number, pointer, number,
                                                      pointer, number, builder.getInt1Ty()},
                                                     false),
                             false);
    MendEmitter(kernel, loop, function).emit();
  }
  std::vector<llvm::Value*> arguments;
  for (unsigned i = 0; i < 3; ++i) arguments.push_back(tile_product->getArg(i));
  arguments.insert(arguments.end(), {recomputed.sums, recomputed.row_bytes, recomputed.total,
                                     recomputed.total_row, builder.getInt1(recomputed.first)});
  builder.CreateCall(function, arguments);
}

}  // namespace graphc::core::cpu
