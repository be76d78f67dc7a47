// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/emit_sums.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>

#include "codegen/cpu/emit_fetch.h"
#include "codegen/cpu/emit_product.h"
#include "codegen/cpu/machine.h"
#include "codegen/cpu/nest_abi.h"
#include "ir/mutant.h"

namespace graphc::cpu {
namespace {

/// Vectors of a row whose sums fit the registers.
int vectors_at_once(const TileShape& shape) { return shape.accumulators / shape.rows; }

/// How many vectors of a block are computed where half of its columns are no more: a last block
/// costs what it has, about. 0: always all of them.
int half_block(const NestProduct& product, const TileShape& shape) {
  const bool whole = product.parts == 1 && shape.vectors <= vectors_at_once(shape);
  return whole && shape.vectors % 2 == 0 ? shape.vectors / 2 : 0;
}

/// The loops for some of all vectors of a row.
ProductLoops loops_of(const TileShape& shape, int vectors, int all) {
  return {shape.lanes, shape.rows, vectors, int64_t(all) * shape.lanes * int64_t(sizeof(float))};
}

}  // namespace

std::vector<ProductLoops> product_loops_of(const NestProgram& program, const TileShape& shape) {
  std::vector<ProductLoops> all;
  const auto add = [&](const ProductLoops& loops) {
    if (std::ranges::find(all, loops) == all.end()) all.push_back(loops);
  };
  const int most = vectors_at_once(shape);
  for (const NestProduct& product : program.products) {
    const int vectors = product.parts * shape.vectors;
    if (vectors >= most) add(loops_of(shape, most, vectors));
    if (vectors % most > 0) add(loops_of(shape, vectors % most, vectors));
    if (const int half = half_block(product, shape); half > 0) add(loops_of(shape, half, vectors));
  }
  return all;
}

SumsEmitter::SumsEmitter(CodeModule& kernel, llvm::IRBuilderBase& builder,
                         const NestProgram& program, const TileShape& shape)
    : LoopEmitter(builder),
      kernel_(kernel),
      program_(program),
      shape_(shape),
      by_matrix_tiles_(is_by_matrix_tiles(program)) {}

int64_t SumsEmitter::row_bytes() const {
  int64_t vectors = 0;
  for (const NestProduct& product : program_.products) vectors += product.parts * shape_.vectors;
  return vectors * shape_.lanes * int64_t(sizeof(float));
}

void SumsEmitter::begin(llvm::Function* function, std::vector<ProductValues> products,
                        Value* first) {
  function_ = function;
  products_ = std::move(products);
  first_ = first;
}

llvm::Value* SumsEmitter::blocks_in_group(llvm::Value* group_bytes) {
  if (by_matrix_tiles_) return number(1);
  Value* bytes = number(0);
  for (const ProductValues& product : products_) bytes = b_.CreateAdd(bytes, product.block);
  Value* fitting =
      b_.CreateSDiv(group_bytes, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bytes, number(1)));
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, fitting, number(1));
}

void SumsEmitter::set_groups(const PanelGroups& groups) {
  groups_ = groups;
  if (by_matrix_tiles_) return;
  // A tile of left rows lies row after row, or, where steps of k are further apart, step by step.
  // Rows that are parts of much longer ones are left to the processor.
  for (const ProductValues& product : products_) {
    Value* row = b_.CreateMul(product.a_k, product.k);
    Value* by_rows = b_.CreateMul(product.a_row, number(shape_.rows));
    Value* tile = b_.CreateSelect(b_.CreateICmpSGE(product.a_row, product.a_k), by_rows, row);
    Value* dense = b_.CreateICmpSLE(product.a_row, b_.CreateMul(row, number(2)));
    Value* bytes = b_.CreateSelect(dense, b_.CreateSDiv(tile, groups.blocks), number(0));
    Value* terms = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, product.k, number(1));
    left_.push_back({bytes, b_.CreateSDiv(bytes, terms)});
  }
}

void SumsEmitter::emit(const SumsTile& tile) {
  if (by_matrix_tiles_) return emit_by_matrix_tiles(tile);
  const int most = vectors_at_once(shape_);
  int offset = 0;
  for (size_t p = 0; p < products_.size(); ++p) {
    const int vectors = program_.products[p].parts * shape_.vectors;
    for (int v = 0; v < vectors; v += most) {
      emit_product(p, tile, at(tile.sums, int64_t(offset + v) * shape_.lanes * 4),
                   {v, std::min(most, vectors - v)});
    }
    offset += vectors;
  }
}

void SumsEmitter::emit_product(size_t p, const SumsTile& tile, Value* sums,
                               const Vectors& vectors) {
  const ProductValues& product = products_[p];
  Value* a = at(product.a, b_.CreateMul(tile.row, product.a_row));
  Value* panel = at(panel_of(product, tile.column), int64_t(vectors.first) * shape_.lanes * 4);
  const Fetched later = fetched(p, tile);
  const auto call = [&](int count) {
    call_product_loop(kernel_, b_,
                      loops_of(shape_, count, program_.products[p].parts * shape_.vectors),
                      tile.count,
                      {a, product.a_row, product.a_k, panel, product.k, sums, tile.sums_row, first_,
                       later.address, later.step});
  };
  const int half = half_block(program_.products[p], shape_);
  if (half == 0) return call(vectors.count);
  const int most = mutated(Mutant::half_of_a_last_block) ? shape_.vectors : half;
  Value* narrow = b_.CreateICmpSLE(tile.columns, number(int64_t(most) * shape_.lanes));
  when(narrow, [&] { call(half); });
  when(b_.CreateNot(narrow), [&] { call(vectors.count); });
}

llvm::Value* SumsEmitter::panel_of(const ProductValues& product, I64 column) {
  Value* index = b_.CreateSDiv(column, number(shape_.width()));
  return at(product.panels, b_.CreateMul(index, product.block));
}

/// Where panels change: of the panel that comes in the place of its own the next part, so that by
/// then all of it is there. Where one group of panels stays: of the left rows that the next tile
/// reads the part that falls to this block.
SumsEmitter::Fetched SumsEmitter::fetched(size_t p, const SumsTile& tile) {
  const ProductValues& product = products_[p];
  Value* part = b_.CreateMul(product.k, number(kLineBytes));
  Value* offset = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateMul(tile.index, part),
                                           b_.CreateSub(product.block, part));
  Value* panel = at(panel_of(product, tile.later), offset);
  Value* next_row = b_.CreateAdd(tile.row, tile.count);
  Value* steps = b_.CreateICmpSLT(product.a_row, product.a_k);
  Value* next_tile = b_.CreateSelect(steps,
                                     at(at(product.a, b_.CreateMul(tile.row, product.a_row)),
                                        b_.CreateMul(product.a_k, product.k)),
                                     at(product.a, b_.CreateMul(next_row, product.a_row)));
  Value* rows = at(next_tile, b_.CreateMul(tile.block, left_[p].bytes));
  return {b_.CreateSelect(groups_.several, panel, rows),
          b_.CreateSelect(groups_.several, number(kLineBytes), left_[p].step)};
}

/// Two tiles of columns at a time, whose panel stays in the first-level cache, by two tiles of
/// rows, or one where there are no more.
void SumsEmitter::emit_by_matrix_tiles(const SumsTile& of) {
  int64_t offset = 0;
  for (size_t p = 0; p < products_.size(); ++p) {
    const NestProduct& form = program_.products[p];
    const int tiles = form.parts * shape_.width() / kTileColumns;
    for (int tile = 0; tile < tiles; tile += 2) {
      loop(number(0), of.count, 2 * kTileRows, "rows", [&](I64 m) {
        Value* row = b_.CreateAdd(of.row, m);
        Value* to = at(at(of.sums, b_.CreateMul(m, of.sums_row)), offset + tile * kTileRowBytes);
        Value* rows = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number(2 * kTileRows),
                                               b_.CreateSub(of.count, m));
        const auto product = [&](int row_tiles) {
          emit_tile_product(products_[p],
                            {row_tiles, std::min(2, tiles - tile), tiles, bf16_parts(form.factors)},
                            {row, rows}, of.column, tile, to, of.sums_row);
        };
        if (kernel_.cpu().matrix_tiles == MatrixTiles::dot_products) return product(2);
        Value* has_two = b_.CreateICmpSGT(rows, number(kTileRows));
        when(has_two, [&] { product(2); });
        when(b_.CreateNot(has_two), [&] { product(1); });
      });
    }
    offset += int64_t(tiles) * kTileRowBytes;
  }
}

void SumsEmitter::emit_tile_product(const ProductValues& product, const TileProductLoop& loop,
                                    const Rows& rows, I64 column, int tile, Value* sums,
                                    I64 sums_row) {
  Value* left = at(product.a, b_.CreateMul(rows.first, product.a_row));
  Value* left_tile = b_.CreateMul(product.a_row, number(kTileRows));
  Value* panel = at(panel_of(product, column), int64_t(tile) * kTileBytes);
  b_.CreateCall(define_tile_product(kernel_, loop),
                {left, left_tile, panel, product.k, sums, sums_row, first_, rows.count});
}

}  // namespace graphc::cpu
