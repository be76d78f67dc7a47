// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_column_sums.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>

#include "ir/mutant.h"

namespace graphc::core::cpu {
namespace {

using llvm::Value;

/// Pieces, pieces of pieces, and the remainder.
constexpr size_t kLevels = 3;
/// Rows added to an accumulator between its load and its store; their lines form as many streams.
constexpr int kRowsTogether = 4;
/// For elements of 4 bytes: one page, beyond which no processor prefetches.
constexpr int64_t kColumnsOfStrip = 1024;
/// Keeps the accumulators of a strip in the first-level cache next to the streaming rows.
constexpr int64_t kBytesOfSums = 24 * 1024;

/// The columns of a strip whose accumulators take `bytes` bytes per column. Columns that are not
/// contiguous are gathered and gain nothing from a long strip.
int64_t strip_of(const NestProgram& program, int64_t bytes) {
  const TileShape& shape = program.tile;
  const bool side_by_side = std::ranges::none_of(program.operands, [](const NestOperand& operand) {
    return operand.column == ColumnStep::strided;
  });
  if (!side_by_side) return shape.width();
  int64_t strip = kColumnsOfStrip;
  while (strip * bytes > kBytesOfSums) strip /= 2;
  return std::max<int64_t>(strip, shape.width());
}

}  // namespace

ColumnSumsEmitter::ColumnSumsEmitter(llvm::IRBuilderBase& builder, llvm::Function* function,
                                     BodyEmitter& body, const NestProgram& program)
    : LoopEmitter(builder),
      body_(body),
      lanes_(program.tile.lanes),
      vectors_(program.tile.vectors),
      few_rows_(program.few_terms),
      all_(body.reductions()) {
  function_ = function;
  int64_t bytes = 0;
  for (size_t i = 0; i < all_.size(); ++i) bytes += bytes_of(i);
  strip_ = strip_of(program, bytes);
}

void ColumnSumsEmitter::emit(const LoopRange& rows, const LoopRange& columns) {
  if (few_rows_) {
    // Sums and vectors that fit the registers.
    const int most = std::min<int>(vectors_, std::max(1, 16 / std::max(1, int(all_.size()))));
    const int64_t block = int64_t{most} * lanes_;
    I64 rest = b_.CreateSRem(b_.CreateSub(columns.end, columns.begin), number(block));
    I64 whole = b_.CreateSub(columns.end, rest);
    loop(columns.begin, whole, block, "block",
         [&](I64 first) { emit_few_rows(rows, first, Values(size_t(most), nullptr)); });
    loop(whole, columns.end, lanes_, "vector",
         [&](I64 first) { emit_few_rows(rows, first, {body_.mask_at(first)}); });
    return;
  }
  for (size_t level = 0; level < kLevels; ++level) sums_.push_back(make_sums());
  loop(columns.begin, columns.end, strip_, "strip", [&](I64 first) {
    Value* behind = b_.CreateAdd(first, number(strip_));
    columns_ = {first, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, behind, columns.end)};
    emit_piece(kLevels - 1, rows.begin, rows.end);
    store();
  });
}

ColumnSumsEmitter::Sums ColumnSumsEmitter::make_sums() {
  int64_t bytes = 0;
  for (size_t i = 0; i < all_.size(); ++i) bytes += strip_ * bytes_of(i);
  llvm::AllocaInst* sums = b_.CreateAlloca(b_.getInt8Ty(), number(bytes));
  sums->setAlignment(llvm::Align(64));
  return sums;
}

llvm::Value* ColumnSumsEmitter::place_of(Sums sums, I64 offset, size_t reduction) {
  int64_t before = 0;
  for (size_t i = 0; i < reduction; ++i) before += strip_ * bytes_of(i);
  return at(at(sums, before), b_.CreateMul(offset, number(bytes_of(reduction))));
}

llvm::Type* ColumnSumsEmitter::type_of(size_t reduction) {
  return body_.identity(all_[reduction])->getType();
}

int64_t ColumnSumsEmitter::bytes_of(size_t reduction) {
  return int64_t(type_of(reduction)->getScalarSizeInBits()) / 8;
}

void ColumnSumsEmitter::for_each_vector(const std::function<void(I64, I64)>& body) {
  loop(columns_.begin, columns_.end, lanes_, "vector",
       [&](I64 column) { body(b_.CreateSub(column, columns_.begin), column); });
}

void ColumnSumsEmitter::clear(Sums sums) {
  for_each_vector([&](I64 offset, I64) {
    for (size_t i = 0; i < all_.size(); ++i)
      b_.CreateStore(body_.identity(all_[i]), place_of(sums, offset, i));
  });
}

void ColumnSumsEmitter::add(Sums from, Sums to) {
  for_each_vector([&](I64 offset, I64) {
    for (size_t i = 0; i < all_.size(); ++i) {
      Value* place = place_of(to, offset, i);
      Value* terms = load(type_of(i), place_of(from, offset, i));
      b_.CreateStore(body_.join(all_[i], load(type_of(i), place), terms), place);
    }
  });
}

/// Emits the rows from `begin` to `end`: at most as many as a piece of this level has.
void ColumnSumsEmitter::emit_piece(size_t level, I64 begin, I64 end) {
  clear(sums_[level]);
  if (level == 0) {
    Value* rows = b_.CreateSub(end, begin);
    Value* rest = b_.CreateSRem(rows, number(kRowsTogether));
    Value* whole = b_.CreateSub(end, rest);
    emit_rows(begin, whole, kRowsTogether);
    if (!mutated(Mutant::rest_of_rows_dropped)) emit_rows(whole, end, 1);
    return;
  }
  int64_t piece = 1;
  for (size_t i = 0; i < level; ++i) piece *= BodyEmitter::kTermsOfPiece;
  loop(begin, end, piece, "piece", [&](I64 first) {
    Value* behind = b_.CreateAdd(first, number(piece));
    Value* last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, behind, end);
    emit_piece(level - 1, first, last);
    add(sums_[level - 1], sums_[level]);
  });
}

void ColumnSumsEmitter::emit_rows(I64 begin, I64 end, int at_once) {
  loop(begin, end, at_once, "row", [&](I64 first) {
    std::vector<I64> rows;
    for (int i = 0; i < at_once; ++i) {
      rows.push_back(b_.CreateAdd(first, number(i)));
      body_.set_starts(rows.back(), body_.starts_of(rows.back()));
    }
    for_each_vector([&](I64 offset, I64 column) {
      Value* mask = body_.mask_at(column);
      Values sums;
      for (size_t i = 0; i < all_.size(); ++i)
        sums.push_back(load(type_of(i), place_of(sums_[0], offset, i)));
      for (I64 row : rows) {
        body_.set_accumulators(all_, sums);
        body_.run_level(Level::element, {row, column, mask});
        sums.clear();
        body_.append_accumulators(all_, sums);
      }
      for (size_t i = 0; i < all_.size(); ++i)
        b_.CreateStore(sums[i], place_of(sums_[0], offset, i));
    });
  });
}

void ColumnSumsEmitter::emit_few_rows(const LoopRange& rows, I64 first, const Values& masks) {
  std::vector<I64> columns;
  Values none;
  for (size_t i = 0; i < masks.size(); ++i) {
    columns.push_back(b_.CreateAdd(first, number(int64_t(i) * lanes_)));
    for (const BodyEmitter::Reduction& r : all_) none.push_back(body_.identity(r));
  }
  // A row's addresses are those of the row before, moved on.
  Values initial = none;
  const Values starts = body_.starts_of(rows.begin);
  initial.insert(initial.end(), starts.begin(), starts.end());
  const Values sums =
      loop(rows.begin, rows.end, 1, "row", initial, [&](I64 row, const Values& before) {
        const Values here(before.begin() + int64_t(none.size()), before.end());
        body_.set_starts(row, here);
        std::vector<BodyEmitter::Place> places;
        for (size_t i = 0; i < masks.size(); ++i) {
          body_.set_accumulators(all_, before, i * all_.size(), i);
          places.push_back({row, columns[i], masks[i]});
        }
        body_.run_level(Level::element, places);
        Values after;
        for (size_t i = 0; i < masks.size(); ++i) body_.append_accumulators(all_, after, i);
        const Values behind = body_.starts_behind(here);
        after.insert(after.end(), behind.begin(), behind.end());
        return after;
      });
  for (size_t i = 0; i < masks.size(); ++i) {
    for (size_t r = 0; r < all_.size(); ++r)
      body_.store_columns(all_[r], columns[i], masks[i], sums[i * all_.size() + r]);
  }
}

void ColumnSumsEmitter::store() {
  for_each_vector([&](I64 offset, I64 column) {
    for (size_t i = 0; i < all_.size(); ++i) {
      Value* sum = load(type_of(i), place_of(sums_.back(), offset, i));
      body_.store_columns(all_[i], column, body_.mask_at(column), sum);
    }
  });
}

}  // namespace graphc::core::cpu
