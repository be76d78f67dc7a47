// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_nest.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>

#include "codegen/targets/cpu/emit/emit_body.h"
#include "codegen/targets/cpu/emit/emit_column_sums.h"
#include "codegen/targets/cpu/emit/emit_finish.h"
#include "codegen/targets/cpu/emit/emit_loops.h"
#include "codegen/targets/cpu/emit/emit_product.h"
#include "codegen/targets/cpu/emit/emit_row_sums.h"
#include "codegen/targets/cpu/emit/emit_sums.h"
#include "codegen/targets/cpu/machine.h"
#include "ir/mutant.h"

namespace graphc::core::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using Reduction = BodyEmitter::Reduction;

constexpr int64_t kTermsOfPiece = BodyEmitter::kTermsOfPiece;

class NestEmitter : private LoopEmitter {
 public:
  NestEmitter(CodeModule& kernel, const NestProgram& program)
      : LoopEmitter(builder_),
        builder_(kernel.context()),
        kernel_(kernel),
        program_(program),
        shape_(program.tile),
        overlaps_(is_beside_products(program.tile, kernel.cpu())),
        body_(kernel.cpu(), b_, program),
        sums_(kernel, b_, program) {}

  void emit(std::string_view name) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    function_ = kernel_.define(name, type);
    b_.SetInsertPoint(BasicBlock::Create(kernel_.context(), "entry", function_));
    load_arguments();
    body_.run_level(Level::once);
    switch (program_.kind) {
      case NestKind::tiles:
        emit_tiles();
        break;
      case NestKind::row_wise:
        if (program_.few_terms) {
          RowSumsEmitter(b_, function_, body_, program_)
              .emit({row_begin_, row_end_}, {column_begin_, column_end_});
        } else {
          emit_rows();
        }
        break;
      case NestKind::column_wise:
        ColumnSumsEmitter(b_, function_, body_, program_)
            .emit({row_begin_, row_end_}, {column_begin_, column_end_});
        break;
    }
    // Other threads may read the results of streaming stores as soon as the function returns.
    if (std::ranges::any_of(program_.operands, &NestOperand::streaming))
      b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
    b_.CreateRetVoid();
  }

 private:
  // --- arguments ---

  void load_arguments() {
    Value* arguments = function_->getArg(0);
    const auto field = [&](size_t offset, bool pointer) {
      return load(pointer ? static_cast<llvm::Type*>(b_.getPtrTy()) : b_.getInt64Ty(),
                  at(arguments, int64_t(offset)));
    };
    operands_ = field(offsetof(NestArguments, operands), true);
    Value* products = field(offsetof(NestArguments, products), true);
    row_begin_ = field(offsetof(NestArguments, row_begin), false);
    row_end_ = field(offsetof(NestArguments, row_end), false);
    column_begin_ = field(offsetof(NestArguments, column_begin), false);
    column_end_ = field(offsetof(NestArguments, column_end), false);
    partial_ = field(offsetof(NestArguments, partial), true);
    partial_row_ = field(offsetof(NestArguments, partial_row), false);
    partial_block_ = field(offsetof(NestArguments, partial_block), false);
    panel_group_ = field(offsetof(NestArguments, panel_group), false);
    first_ = b_.CreateICmpNE(field(offsetof(NestArguments, first), false), number(0));
    last_ = b_.CreateICmpNE(field(offsetof(NestArguments, last), false), number(0));
    body_.set_arguments(load_operands(b_, program_, operands_), column_end_);
    std::vector<ProductValues> values;
    for (size_t i = 0; i < program_.products.size(); ++i) {
      Value* entry = at(products, int64_t(i * sizeof(NestProductArguments)));
      values.push_back({load(b_.getPtrTy(), entry), load(b_.getInt64Ty(), at(entry, 8)),
                        load(b_.getInt64Ty(), at(entry, 16)), load(b_.getPtrTy(), at(entry, 24)),
                        load(b_.getInt64Ty(), at(entry, 32)),
                        load(b_.getInt64Ty(), at(entry, 40))});
    }
    sums_.begin(function_, std::move(values), first_);
  }

  // --- loops over reductions ---

  /// loop() over the terms of reductions, in pieces (BodyEmitter::kTermsOfPiece). `initial` has one
  /// accumulator for each of `reductions` in turn, repeated as often as needed.
  Values reduction_loop(I64 begin, I64 end, int64_t step, const char* name,
                        const std::vector<Reduction>& reductions, const Values& initial,
                        const std::function<Values(I64, const Values&)>& body,
                        int64_t piece = kTermsOfPiece * kTermsOfPiece) {
    if (piece == 1) return loop(begin, end, step, name, initial, body);
    const int64_t stride = step * piece;
    return loop(begin, end, stride, "piece", initial, [&](I64 first, const Values& carried) {
      Value* last =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(first, number(stride)), end);
      const Values sums =
          reduction_loop(first, last, step, name, reductions, initial, body, piece / kTermsOfPiece);
      Values joined;
      for (size_t i = 0; i < sums.size(); ++i)
        joined.push_back(body_.join(reductions[i % reductions.size()], carried[i], sums[i]));
      return joined;
    });
  }

  // --- the three kinds ---

  void emit_rows() {
    const std::vector<Reduction> all = body_.reductions();
    if (all.empty()) return emit_map();
    Values initial;
    for (const Reduction& r : all) initial.push_back(body_.identity(r));
    loop(row_begin_, row_end_, 1, "row", [&](I64 row) {
      body_.run_level(Level::row, BodyEmitter::Place{row});
      const Values sums =
          reduction_loop(column_begin_, column_end_, shape_.lanes, "column", all, initial,
                         [&](I64 column, const Values& carried) {
                           body_.set_accumulators(all, carried);
                           body_.run_level(Level::element, {row, column, body_.mask_at(column)});
                           Values next;
                           body_.append_accumulators(all, next);
                           return next;
                         });
      for (size_t i = 0; i < all.size(); ++i) body_.store_row(all[i], row, sums[i]);
    });
  }

  /// Where an element takes a few instructions, a mask would be half of them: whole vectors have a
  /// loop of their own.
  void emit_map() {
    constexpr int kFewAdditions = 16;
    const bool apart = body_.cost_of_element() <= kFewAdditions;
    const int64_t step = int64_t(body_.places_at_once()) * shape_.lanes;
    Value* all = b_.CreateSub(column_end_, column_begin_);
    Value* whole =
        apart ? b_.CreateSub(column_end_, b_.CreateSRem(all, number(step))) : column_begin_;
    loop(row_begin_, row_end_, 1, "row", [&](I64 row) {
      body_.run_level(Level::row, BodyEmitter::Place{row});
      const auto columns = [&](I64 begin, I64 end, bool masked) {
        loop(begin, end, step, "column", [&](I64 first) {
          std::vector<BodyEmitter::Place> places;
          for (int i = 0; i < body_.places_at_once(); ++i) {
            Value* column = b_.CreateAdd(first, number(int64_t(i) * shape_.lanes));
            places.push_back({row, column, masked ? body_.mask_at(column) : nullptr});
          }
          body_.run_level(Level::element, places);
        });
      };
      if (apart) columns(column_begin_, whole, false);
      // Of several vectors at once, the first may be whole.
      body_.set_masks_for_rest(apart && step == shape_.lanes);
      columns(whole, column_end_, true);
    });
  }

  void emit_tiles() {
    const int64_t row_bytes = sums_.row_bytes(), tile_bytes = row_bytes * shape_.rows;
    llvm::AllocaInst* stack =
        b_.CreateAlloca(b_.getInt8Ty(), number(overlaps_ ? 2 * tile_bytes : tile_bytes));
    stack->setAlignment(llvm::Align(64));
    if (overlaps_) begin_waiting();
    Value* own = b_.CreateICmpEQ(partial_, llvm::ConstantPointerNull::get(b_.getPtrTy()));
    Value* sums_row = b_.CreateSelect(own, number(row_bytes), partial_row_);
    Value* rows = b_.CreateSub(row_end_, row_begin_);
    Value* tiles = b_.CreateSDiv(b_.CreateAdd(rows, number(shape_.rows - 1)), number(shape_.rows));
    const Heights heights = heights_of(rows, tiles);
    const auto emit_tile = [&](I64 column, I64 index, I64 before, I64 later) {
      // The address of sums kept for the rest of their terms.
      Value* in_call = b_.CreateSDiv(b_.CreateSub(column, column_begin_), number(shape_.width()));
      Value* of_block = at(partial_, b_.CreateMul(in_call, partial_block_));
      const auto [offset, count] = heights(index);
      Value* row = b_.CreateAdd(row_begin_, offset);
      Value* on_stack = overlaps_ ? other_sums(stack, tile_bytes) : stack;
      Value* partial = at(of_block, b_.CreateMul(offset, partial_row_));
      Value* sums = b_.CreateSelect(own, on_stack, partial);
      const SumsTile tile{row,   column, count, b_.CreateSub(column_end_, column), sums, sums_row,
                          index, before, later};
      if (overlaps_) return emit_overlapped(tile);
      if (shape_.matrix_tiles) {
        sums_.emit_by_matrix_tiles(tile, nullptr, llvm::ConstantPointerNull::get(b_.getPtrTy()));
      } else {
        sums_.emit(tile);
      }
      when(last_, [&] { finish_tile(tile); });
    };
    Value* in_group = sums_.blocks_in_group(panel_group_);
    Value* group = b_.CreateMul(in_group, number(shape_.width()));
    Value* columns = b_.CreateSub(column_end_, column_begin_);
    Value* groups = b_.CreateSDiv(b_.CreateSub(b_.CreateAdd(columns, group), number(1)), group);
    sums_.set_groups({in_group, b_.CreateICmpSGT(groups, number(1))});
    loop(number(0), groups, 1, "group", [&](I64 g) {
      Value* begin = b_.CreateAdd(column_begin_, b_.CreateMul(g, group));
      Value* behind = b_.CreateAdd(begin, group);
      Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, behind, column_end_);
      // The first group follows the last one: in the next step, if the call is in a loop.
      Value* is_last = b_.CreateICmpSGE(behind, column_end_);
      Value* next = b_.CreateSelect(is_last, column_begin_, behind);
      loop(number(0), tiles, 1, "tile", [&](I64 tile) {
        loop(begin, end, shape_.width(), "block", [&](I64 column) {
          Value* offset = b_.CreateSub(column, begin);
          emit_tile(column, tile, b_.CreateSDiv(offset, number(shape_.width())),
                    b_.CreateAdd(next, offset));
        });
      });
    });
    if (overlaps_) finish_waiting();
  }

  // --- tiles whose body runs during the next tile's products (emit_finish.h) ---

  Value* waiting_field(size_t offset) { return at(waiting_, int64_t(offset)); }
  void set_waiting(size_t offset, Value* value) { b_.CreateStore(value, waiting_field(offset)); }

  void begin_waiting() {
    finish_.emplace(define_finish_rows(kernel_, program_, shape_));
    waiting_ = b_.CreateAlloca(b_.getInt8Ty(), number(int64_t(sizeof(WaitingTile))));
    llvm::cast<llvm::AllocaInst>(waiting_)->setAlignment(llvm::Align(64));
    set_waiting(offsetof(WaitingTile, arguments), function_->getArg(0));
    set_waiting(offsetof(WaitingTile, sums), llvm::ConstantPointerNull::get(b_.getPtrTy()));
    set_waiting(offsetof(WaitingTile, next), number(0));
    set_waiting(offsetof(WaitingTile, end), number(0));
    set_waiting(offsetof(WaitingTile, clock), number(kNothingWaits));
    // One row, or a few, for each term tile, or for every few of them.
    Value* terms =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, sums_.term_tiles_of_tile(), number(1));
    Value* rows = number(shape_.rows);
    Value* at_once =
        b_.CreateSDiv(b_.CreateAdd(rows, b_.CreateSub(terms, number(1))), terms);  // rounded up
    Value* every = b_.CreateSDiv(b_.CreateMul(terms, at_once), rows);
    set_waiting(offsetof(WaitingTile, at_once), at_once);
    set_waiting(offsetof(WaitingTile, every),
                b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, every, number(1)));
  }

  /// The address for the sums of the next tile: not that of the waiting sums.
  Value* other_sums(Value* stack, int64_t tile_bytes) {
    if (mutated(Mutant::waiting_sums_overwritten)) return stack;
    Value* waits = load(b_.getPtrTy(), waiting_field(offsetof(WaitingTile, sums)));
    return b_.CreateSelect(b_.CreateICmpEQ(waits, stack), at(stack, tile_bytes), stack);
  }

  void emit_overlapped(const SumsTile& tile) {
    set_waiting(offsetof(WaitingTile, ahead_row), tile.row);
    set_waiting(offsetof(WaitingTile, ahead_column), tile.column);
    sums_.emit_by_matrix_tiles(tile, &*finish_, waiting_);
    when(last_, [&] {
      finish_waiting();
      set_waiting(offsetof(WaitingTile, row), tile.row);
      set_waiting(offsetof(WaitingTile, column), tile.column);
      set_waiting(offsetof(WaitingTile, sums), tile.sums);
      set_waiting(offsetof(WaitingTile, sums_row), tile.sums_row);
      set_waiting(offsetof(WaitingTile, next), number(0));
      set_waiting(offsetof(WaitingTile, end), tile.count);
      set_waiting(offsetof(WaitingTile, clock),
                  load(b_.getInt64Ty(), waiting_field(offsetof(WaitingTile, every))));
    });
  }

  /// Finishes the rows that the products left over.
  void finish_waiting() {
    const auto field = [&](size_t offset) { return load(b_.getInt64Ty(), waiting_field(offset)); };
    Value* end = field(offsetof(WaitingTile, end));
    when(b_.CreateICmpSLT(field(offsetof(WaitingTile, next)), end),
         [&] { b_.CreateCall(finish_->function, {waiting_, end}); });
  }

  /// A tile's first row, relative to the call's first, and its number of rows.
  using Heights = std::function<std::pair<I64, I64>(I64 tile)>;

  Heights heights_of(Value* rows, Value* tiles) {
    if (shape_.matrix_tiles) {
      return [this, rows](I64 tile) -> std::pair<I64, I64> {
        Value* offset = b_.CreateMul(tile, number(shape_.rows));
        return {offset, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number(shape_.rows),
                                                 b_.CreateSub(rows, offset))};
      };
    }
    // Tiles of nearly equal height: 20 rows are 5 5 5 5, not 6 6 6 2.
    Value* divisor = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, tiles, number(1));
    Value* height = b_.CreateSDiv(rows, divisor);
    Value* taller = b_.CreateSRem(rows, divisor);
    return [this, height, taller](I64 tile) -> std::pair<I64, I64> {
      Value* offset = b_.CreateAdd(b_.CreateMul(tile, height),
                                   b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, tile, taller));
      Value* is_taller = b_.CreateZExt(b_.CreateICmpSLT(tile, taller), b_.getInt64Ty());
      return {offset, b_.CreateAdd(height, is_taller)};
    };
  }

  void finish_tile(const SumsTile& tile) {
    // One by one: interleaved rows were 2 to 4 % slower where multiply-adds run in between.
    RowsFinisher finisher(b_, body_, shape_, 1, function_);
    loop(number(0), tile.count, 1, "finish", [&](I64 m) {
      finisher.finish({tile.row, tile.column, tile.sums, tile.sums_row, tile.count}, m,
                      column_end_);
    });
  }

  llvm::IRBuilder<> builder_;
  CodeModule& kernel_;
  const NestProgram& program_;
  const TileShape shape_;
  const bool overlaps_;  ///< bodies overlap the products of the next tile
  BodyEmitter body_;
  SumsEmitter sums_;
  std::optional<FinishRows> finish_;
  Value* waiting_ = nullptr;
  Value *operands_ = nullptr, *row_begin_ = nullptr, *row_end_ = nullptr, *column_begin_ = nullptr,
        *column_end_ = nullptr;
  Value *partial_ = nullptr, *partial_row_ = nullptr, *partial_block_ = nullptr, *first_ = nullptr,
        *last_ = nullptr;
  Value* panel_group_ = nullptr;
};

}  // namespace

std::vector<SharedCode> shared_code_of(const NestProgram& program) {
  std::vector<SharedCode> shared;
  if (program.kind != NestKind::tiles || program.tile.matrix_tiles) return shared;
  for (const ProductLoops& loops : product_loops_of(program))
    shared.push_back(
        {loops.symbol(), [loops](CodeModule& module) { emit_product_loops(module, loops); }});
  return shared;
}

void emit_nest(CodeModule& kernel, std::string_view name, const NestProgram& program) {
  NestEmitter(kernel, program).emit(name);
}

}  // namespace graphc::core::cpu
