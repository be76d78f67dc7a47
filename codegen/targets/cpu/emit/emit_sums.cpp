// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/emit/emit_sums.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>

#include "codegen/targets/cpu/emit/emit_fetch.h"
#include "codegen/targets/cpu/emit/emit_product.h"
#include "codegen/targets/cpu/machine.h"
#include "codegen/walk/nest_abi.h"
#include "ir/mutant.h"

namespace graphc::core::cpu {
namespace {

/// Vectors of a row whose sums fit in the registers.
int vectors_at_once(const TileShape& shape) { return shape.accumulators / shape.rows; }

/// With matrix tiles: whether a panel stays in the first-level cache while row tiles pass by, as it
/// does if a tile has many of them. Otherwise the row tiles stay and the panels pass by; the body's
/// writes of a row are then contiguous, and the processor prefetches them.
bool panel_stays(const TileShape& shape) { return shape.rows > 2 * kTileRows; }

/// The number of a block's vectors that are computed if half of its columns do not exist, so that a
/// last block costs about as much as it contains. 0: all vectors are always computed.
int half_block(const NestProduct& product, const TileShape& shape) {
  const bool whole = product.parts == 1 && shape.vectors <= vectors_at_once(shape);
  return whole && shape.vectors % 2 == 0 ? shape.vectors / 2 : 0;
}

/// The loops for `vectors` of the `all` vectors of a row.
ProductLoops loops_of(const TileShape& shape, int vectors, int all) {
  return {shape.lanes, shape.rows, vectors, int64_t(all) * shape.lanes * int64_t(sizeof(float))};
}

}  // namespace

std::vector<ProductLoops> product_loops_of(const NestProgram& program) {
  const TileShape& shape = program.tile;
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
                         const NestProgram& program)
    : LoopEmitter(builder), kernel_(kernel), program_(program), shape_(program.tile) {}

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
  if (shape_.matrix_tiles && panel_stays(shape_)) return number(1);
  Value* bytes = number(0);
  for (const ProductValues& product : products_) bytes = b_.CreateAdd(bytes, product.block);
  Value* fitting =
      b_.CreateSDiv(group_bytes, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bytes, number(1)));
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, fitting, number(1));
}

void SumsEmitter::set_groups(const PanelGroups& groups) {
  groups_ = groups;
  if (shape_.matrix_tiles) return;
  // A tile of left rows is read row by row or, where steps of k are further apart, step by step.
  // Rows that are parts of much longer ones are left to the processor's prefetcher.
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

/// What a product prefetches. With several groups of panels: the next part of the panel that will
/// replace its own, so that all of that panel is cached by then. With one group: this block's part
/// of the left rows that the next tile reads.
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

llvm::Value* SumsEmitter::term_tiles_of(const ProductValues& product) {
  return b_.CreateSDiv(b_.CreateAdd(product.k, number(kTileK - 1)), number(kTileK));
}

llvm::Value* SumsEmitter::term_tiles_of_tile() {
  Value* all = number(0);
  for (size_t p = 0; p < products_.size(); ++p) {
    const int tiles = program_.products[p].parts * shape_.width() / kTileColumns;
    const int blocks = (tiles + 1) / 2 * (shape_.rows / (2 * kTileRows));
    all = b_.CreateAdd(all, b_.CreateMul(term_tiles_of(products_[p]), number(blocks)));
  }
  return all;
}

/// Multiplies two column tiles at a time, whose panel may stay in the first-level cache
/// (panel_stays()), by two row tiles, or by one where there are no more.
void SumsEmitter::emit_by_matrix_tiles(const SumsTile& of, const FinishRows* finish,
                                       Value* waiting) {
  int64_t offset = 0;
  for (size_t p = 0; p < products_.size(); ++p) {
    const ProductValues& product = products_[p];
    const NestProduct& form = program_.products[p];
    const int tiles = form.parts * shape_.width() / kTileColumns;
    Value* tile_bytes = b_.CreateMul(term_tiles_of(product),
                                     number(int64_t(bf16_parts(form.factors)) * kTileBytes));
    for (int tile = 0; tile < tiles; tile += 2) {
      Value* panel = at(panel_of(product, of.column), b_.CreateMul(tile_bytes, number(tile)));
      loop(number(0), of.count, 2 * kTileRows, "rows", [&](I64 m) {
        Value* row = b_.CreateAdd(of.row, m);
        Value* to = at(at(of.sums, b_.CreateMul(m, of.sums_row)), offset + tile * kTileRowBytes);
        Value* rows = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number(2 * kTileRows),
                                               b_.CreateSub(of.count, m));
        const auto multiply = [&](int row_tiles) {
          const TileProductLoop loop{row_tiles, std::min(2, tiles - tile), bf16_parts(form.factors),
                                     panel_stays(shape_)};
          b_.CreateCall(define_tile_product(kernel_, loop, finish),
                        {at(product.a, b_.CreateMul(row, product.a_row)), panel, product.k, to,
                         of.sums_row, first_, rows, waiting});
        };
        if (kernel_.cpu().matrix_tiles == MatrixTiles::dot_products) return multiply(2);
        Value* has_two = b_.CreateICmpSGT(rows, number(kTileRows));
        when(has_two, [&] { multiply(2); });
        when(b_.CreateNot(has_two), [&] { multiply(1); });
      });
    }
    offset += int64_t(tiles) * kTileRowBytes;
  }
}

}  // namespace graphc::core::cpu
