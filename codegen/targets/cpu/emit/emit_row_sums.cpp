// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_row_sums.h"

#include <llvm/IR/IRBuilder.h>

#include "ir/mutant.h"

namespace graphc::core::cpu {
namespace {

using llvm::Value;

/// Rows between a load of what they share and the next. Their sums are independent, which hides the
/// latency of additions. But each has addresses of its own, and there are 16 registers for them.
int rows_of_step(const BodyEmitter& body) { return body.moving_operands() <= 2 ? 4 : 2; }

}  // namespace

RowSumsEmitter::RowSumsEmitter(llvm::IRBuilderBase& builder, llvm::Function* function,
                               BodyEmitter& body, const NestProgram& program)
    : LoopEmitter(builder), body_(body), lanes_(program.tile.lanes), all_(body.reductions()) {
  function_ = function;
}

void RowSumsEmitter::emit(const LoopRange& rows, const LoopRange& columns) {
  columns_ = columns;
  Value* all = b_.CreateSub(columns.end, columns.begin);
  whole_ = b_.CreateSub(columns.end, b_.CreateSRem(all, number(lanes_)));
  for (size_t i = 0; i < all_.size(); ++i) {
    llvm::AllocaInst* group = b_.CreateAlloca(type_of(i), number(lanes_));
    group->setAlignment(llvm::Align(64));
    groups_.push_back(group);
  }
  loop(rows.begin, rows.end, lanes_, "group", [&](I64 first) {
    Value* behind = b_.CreateAdd(first, number(lanes_));
    Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, behind, rows.end);
    Value* count = b_.CreateSub(end, first);
    const int at_once = rows_of_step(body_);
    Value* whole = b_.CreateSub(end, b_.CreateSRem(count, number(at_once)));
    emit_rows(first, {first, whole}, at_once);
    if (!mutated(Mutant::rest_of_rows_dropped)) emit_rows(first, {whole, end}, 1);
    for (size_t i = 0; i < all_.size(); ++i) {
      Values sums;
      for (int row = 0; row < lanes_; ++row)
        sums.push_back(load(type_of(i), place_of(i, number(row))));
      body_.store_rows(all_[i], first, count, sums);
    }
  });
}

void RowSumsEmitter::emit_rows(I64 group, const LoopRange& rows, int at_once) {
  loop(rows.begin, rows.end, at_once, "row", [&](I64 first) {
    Places places;
    Values sums;
    for (int i = 0; i < at_once; ++i) {
      places.push_back({b_.CreateAdd(first, number(i))});
      for (const BodyEmitter::Reduction& r : all_) sums.push_back(body_.identity(r));
    }
    body_.run_level(Level::row, places);
    sums = emit_columns(places, {columns_.begin, whole_}, false, sums);
    body_.set_masks_for_rest(true);
    sums = emit_columns(places, {whole_, columns_.end}, true, sums);
    body_.set_masks_for_rest(false);
    for (size_t i = 0; i < places.size(); ++i) {
      Value* in_group = b_.CreateSub(places[i].row, group);
      for (size_t r = 0; r < all_.size(); ++r)
        b_.CreateStore(sums[i * all_.size() + r], place_of(r, in_group));
    }
  });
}

RowSumsEmitter::Values RowSumsEmitter::emit_columns(Places rows, const LoopRange& columns,
                                                    bool masked, const Values& sums) {
  return loop(columns.begin, columns.end, lanes_, "column", sums,
              [&](I64 column, const Values& before) {
                Value* mask = masked ? body_.mask_at(column) : nullptr;
                for (size_t i = 0; i < rows.size(); ++i) {
                  body_.set_accumulators(all_, before, i * all_.size(), i);
                  rows[i].column = column;
                  rows[i].mask = mask;
                }
                body_.run_level(Level::element, rows);
                Values after;
                for (size_t i = 0; i < rows.size(); ++i) body_.append_accumulators(all_, after, i);
                return after;
              });
}

llvm::Value* RowSumsEmitter::place_of(size_t reduction, I64 row_in_group) {
  return at(groups_[reduction], b_.CreateMul(row_in_group, number(bytes_of(reduction))));
}

llvm::Type* RowSumsEmitter::type_of(size_t reduction) {
  return body_.identity(all_[reduction])->getType();
}

int64_t RowSumsEmitter::bytes_of(size_t reduction) {
  return int64_t(type_of(reduction)->getScalarSizeInBits()) / 8 * lanes_;
}

}  // namespace graphc::core::cpu
