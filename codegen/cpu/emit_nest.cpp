// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/emit_nest.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <functional>

#include "codegen/cpu/emit_body.h"
#include "codegen/cpu/emit_loops.h"
#include "codegen/cpu/emit_product.h"
#include "codegen/cpu/emit_tile_product.h"
#include "codegen/cpu/machine.h"

namespace graphc::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using Reduction = BodyEmitter::Reduction;

/// How many terms an accumulator of a reduction takes.
constexpr int64_t kPiece = 256;

/// Panels that are gone through for each tile of rows, so that its left operand is read once for
/// all of them: a part of the second-level cache.
constexpr int64_t kGroupBytes = 512 << 10;

/// A tile of sums where code is emitted for it.
struct Tile {
  llvm::Value *row, *column, *count;  ///< first row, first column, number of rows
  llvm::Value *sums, *sums_row;       ///< where they are, and bytes from one row to the next
  llvm::Value* index;                 ///< how many tiles of this block come before
  llvm::Value* later;                 ///< the column of the block whose panels come in its place
};

/// The fields of NestProductArguments, loaded.
struct ProductValues {
  Value *a, *a_row, *a_k, *panels, *block, *k;
};

class NestEmitter : private LoopEmitter {
 public:
  NestEmitter(CodeModule& kernel, const NestProgram& program, const TileShape& shape)
      : LoopEmitter(builder_),
        builder_(kernel.context()),
        kernel_(kernel),
        program_(program),
        shape_(shape),
        by_matrix_tiles_(is_by_matrix_tiles(program)),
        body_(kernel, b_, program, shape) {}

  void emit(std::string_view name) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    function_ = kernel_.define(name, type);
    b_.SetInsertPoint(BasicBlock::Create(kernel_.context(), "entry", function_));
    load_arguments();
    body_.run_level(Level::once, nullptr, nullptr, nullptr, nullptr);
    switch (program_.kind) {
      case NestKind::tiles:
        emit_tiles();
        break;
      case NestKind::row_wise:
        emit_rows();
        break;
      case NestKind::column_wise:
        emit_columns();
        break;
    }
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
    Value* operands = field(offsetof(NestArguments, operands), true);
    Value* products = field(offsetof(NestArguments, products), true);
    row_begin_ = field(offsetof(NestArguments, row_begin), false);
    row_end_ = field(offsetof(NestArguments, row_end), false);
    column_begin_ = field(offsetof(NestArguments, column_begin), false);
    column_end_ = field(offsetof(NestArguments, column_end), false);
    partial_ = field(offsetof(NestArguments, partial), true);
    partial_row_ = field(offsetof(NestArguments, partial_row), false);
    first_ = b_.CreateICmpNE(field(offsetof(NestArguments, first), false), number(0));
    last_ = b_.CreateICmpNE(field(offsetof(NestArguments, last), false), number(0));
    std::vector<OperandValues> loaded;
    for (size_t i = 0; i < program_.operands.size(); ++i) {
      Value* entry = at(operands, int64_t(i * sizeof(NestOperandArguments)));
      const bool iota = program_.operands[i].kind == OperandKind::iota;
      llvm::Type* base = iota ? static_cast<llvm::Type*>(b_.getInt64Ty()) : b_.getPtrTy();
      loaded.push_back({load(base, entry), load(b_.getInt64Ty(), at(entry, 8)),
                        load(b_.getInt64Ty(), at(entry, 16)),
                        load(b_.getInt64Ty(), at(entry, 24))});
    }
    body_.set_arguments(std::move(loaded), column_end_);
    for (size_t i = 0; i < program_.products.size(); ++i) {
      Value* entry = at(products, int64_t(i * sizeof(NestProductArguments)));
      products_.push_back({load(b_.getPtrTy(), entry), load(b_.getInt64Ty(), at(entry, 8)),
                           load(b_.getInt64Ty(), at(entry, 16)), load(b_.getPtrTy(), at(entry, 24)),
                           load(b_.getInt64Ty(), at(entry, 32)),
                           load(b_.getInt64Ty(), at(entry, 40))});
    }
  }

  // --- loops over reductions ---

  /// loop() over what reductions go through, in pieces: an accumulator takes a few hundred terms,
  /// another the sums of a few hundred pieces, the last the rest. So the error of a sum grows with
  /// those hundreds, not with the extent. `initial` belongs to `reductions`, over and over.
  Values reduction_loop(I64 begin, I64 end, int64_t step, const char* name,
                        const std::vector<Reduction>& reductions, const Values& initial,
                        const std::function<Values(I64, const Values&)>& body,
                        int64_t piece = kPiece * kPiece) {
    if (piece == 1) return loop(begin, end, step, name, initial, body);
    const int64_t stride = step * piece;
    return loop(begin, end, stride, "piece", initial, [&](I64 first, const Values& carried) {
      Value* last =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(first, number(stride)), end);
      const Values sums =
          reduction_loop(first, last, step, name, reductions, initial, body, piece / kPiece);
      Values joined;
      for (size_t i = 0; i < sums.size(); ++i)
        joined.push_back(body_.join(reductions[i % reductions.size()], carried[i], sums[i]));
      return joined;
    });
  }

  // --- the three kinds ---

  void emit_rows() {
    const std::vector<Reduction> all = body_.reductions();
    Values initial;
    for (const Reduction& r : all) initial.push_back(body_.identity(r));
    loop(row_begin_, row_end_, 1, "row", [&](I64 row) {
      body_.run_level(Level::row, row, nullptr, nullptr, nullptr);
      const Values sums = reduction_loop(
          column_begin_, column_end_, shape_.lanes, "column", all, initial,
          [&](I64 column, const Values& carried) {
            body_.set_accumulators(all, carried);
            body_.run_level(Level::element, row, column, body_.mask_at(column), nullptr);
            Values next;
            body_.append_accumulators(all, next);
            return next;
          },
          all.empty() ? 1 : kPiece * kPiece);
      for (size_t i = 0; i < all.size(); ++i) body_.store_row(all[i], row, sums[i]);
    });
  }

  void emit_columns() {
    const std::vector<Reduction> all = body_.reductions();
    Values initial;
    for (int v = 0; v < shape_.vectors; ++v) {
      for (const Reduction& r : all) initial.push_back(body_.identity(r));
    }
    loop(column_begin_, column_end_, shape_.width(), "block", [&](I64 block_column) {
      Values columns, masks;
      for (int v = 0; v < shape_.vectors; ++v) {
        columns.push_back(b_.CreateAdd(block_column, number(v * shape_.lanes)));
        masks.push_back(body_.mask_at(columns.back()));
      }
      const Values sums = reduction_loop(
          row_begin_, row_end_, 1, "row", all, initial, [&](I64 row, const Values& carried) {
            Values next;
            for (size_t v = 0; v < columns.size(); ++v) {
              body_.set_accumulators(all, carried, v * all.size());
              body_.run_level(Level::element, row, columns[v], masks[v], nullptr);
              body_.append_accumulators(all, next);
            }
            return next;
          });
      for (size_t v = 0; v < columns.size(); ++v) {
        for (size_t i = 0; i < all.size(); ++i) {
          body_.store_columns(all[i], columns[v], masks[v], sums[v * all.size() + i]);
        }
      }
    });
  }

  /// Vectors of sums a row of a tile has, over all products.
  int sum_vectors() const {
    int vectors = 0;
    for (const NestProduct& product : program_.products) vectors += product.parts * shape_.vectors;
    return vectors;
  }

  void emit_tiles() {
    const int64_t row_bytes = int64_t(sum_vectors()) * shape_.lanes * 4;
    llvm::AllocaInst* stack = b_.CreateAlloca(b_.getInt8Ty(), number(row_bytes * shape_.rows));
    stack->setAlignment(llvm::Align(64));
    Value* own = b_.CreateICmpEQ(partial_, llvm::ConstantPointerNull::get(b_.getPtrTy()));
    Value* sums_row = b_.CreateSelect(own, number(row_bytes), partial_row_);
    Value* rows = b_.CreateSub(row_end_, row_begin_);
    Value* tiles = b_.CreateSDiv(b_.CreateAdd(rows, number(shape_.rows - 1)), number(shape_.rows));
    const Heights heights = heights_of(rows, tiles);
    const auto emit_tile = [&](I64 column, I64 index, I64 later) {
      // Sums that wait for the rest of their terms lie beside those of the other blocks.
      Value* waiting = at(partial_, b_.CreateMul(b_.CreateSub(column, column_begin_),
                                                 number(row_bytes / shape_.width())));
      const auto [offset, count] = heights(index);
      Value* row = b_.CreateAdd(row_begin_, offset);
      Value* sums = b_.CreateSelect(own, stack, at(waiting, b_.CreateMul(offset, partial_row_)));
      const Tile tile{row, column, count, sums, sums_row, index, later};
      emit_products(tile);
      when(last_, [&] { finish_tile(tile); });
    };
    Value* group = b_.CreateMul(blocks_in_group(), number(shape_.width()));
    Value* columns = b_.CreateSub(column_end_, column_begin_);
    Value* groups = b_.CreateSDiv(b_.CreateSub(b_.CreateAdd(columns, group), number(1)), group);
    loop(number(0), groups, 1, "group", [&](I64 g) {
      Value* begin = b_.CreateAdd(column_begin_, b_.CreateMul(g, group));
      Value* behind = b_.CreateAdd(begin, group);
      Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, behind, column_end_);
      // After the last group comes the first: of the next step, if this is in a loop.
      Value* is_last = b_.CreateICmpSGE(behind, column_end_);
      Value* next = b_.CreateSelect(is_last, column_begin_, behind);
      loop(number(0), tiles, 1, "tile", [&](I64 tile) {
        loop(begin, end, shape_.width(), "block", [&](I64 column) {
          emit_tile(column, tile, b_.CreateAdd(next, b_.CreateSub(column, begin)));
        });
      });
    });
  }

  Value* blocks_in_group() {
    if (by_matrix_tiles_) return number(1);
    Value* bytes = number(0);
    for (const ProductValues& product : products_) bytes = b_.CreateAdd(bytes, product.block);
    Value* fitting = b_.CreateSDiv(
        number(kGroupBytes), b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bytes, number(1)));
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, fitting, number(1));
  }

  /// The first row of a tile, from the first of the call, and its number of rows.
  using Heights = std::function<std::pair<I64, I64>(I64 tile)>;

  Heights heights_of(Value* rows, Value* tiles) {
    if (by_matrix_tiles_) {
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

  void finish_tile(const Tile& tile) {
    loop(number(0), tile.count, 1, "finish", [&](I64 m) {
      Value* row = b_.CreateAdd(tile.row, m);
      Value* row_sums = at(tile.sums, b_.CreateMul(m, tile.sums_row));
      body_.run_level(Level::row, row, nullptr, nullptr, nullptr);
      Value* end = b_.CreateBinaryIntrinsic(
          llvm::Intrinsic::smin, b_.CreateAdd(tile.column, number(shape_.width())), column_end_);
      loop(tile.column, end, shape_.lanes, "vector", [&](I64 c) {
        Value* sums = at(row_sums, b_.CreateMul(b_.CreateSub(c, tile.column), number(4)));
        body_.run_level(Level::element, row, c, body_.mask_at(c), sums);
      });
    });
  }

  void emit_products(const Tile& tile) {
    if (by_matrix_tiles_) return emit_tile_products(tile);
    const int most =
        shape_.accumulators / shape_.rows;  // accumulators of one row that fit the registers
    int offset = 0;
    for (size_t p = 0; p < products_.size(); ++p) {
      const int parts = program_.products[p].parts;
      const int vectors = parts * shape_.vectors;
      for (int v = 0; v < vectors; v += most) {
        emit_product(p, tile, at(tile.sums, int64_t(offset + v) * shape_.lanes * 4), v,
                     std::min(most, vectors - v), vectors);
      }
      offset += vectors;
    }
  }

  /// Dispatches on the height of the tile: each has a product loop of its own.
  void emit_product(size_t p, const Tile& tile, Value* sums, int begin, int vectors,
                    int all_vectors) {
    const ProductValues& product = products_[p];
    Value* a = at(product.a, b_.CreateMul(tile.row, product.a_row));
    Value* panel = at(panel_of(product, tile.column), int64_t(begin) * shape_.lanes * 4);
    const auto [later, later_step] = fetched_later(product, tile);
    BasicBlock *done = block("done"), *impossible = block("impossible");
    auto* choice = b_.CreateSwitch(tile.count, impossible, unsigned(shape_.rows));
    for (int height = 1; height <= shape_.rows; ++height) {
      BasicBlock* start = block("height");
      choice->addCase(llvm::cast<llvm::ConstantInt>(number(height)), start);
      b_.SetInsertPoint(start);
      llvm::Function* loop = define_product_loop(
          kernel_, {shape_.lanes, height, vectors, int64_t(all_vectors) * shape_.lanes * 4});
      b_.CreateCall(loop, {a, product.a_row, product.a_k, panel, product.k, sums, tile.sums_row,
                           first_, later, later_step});
      b_.CreateBr(done);
    }
    b_.SetInsertPoint(impossible);
    b_.CreateUnreachable();
    b_.SetInsertPoint(done);
  }

  Value* panel_of(const ProductValues& product, I64 column) {
    Value* index = b_.CreateSDiv(column, number(shape_.width()));
    return at(product.panels, b_.CreateMul(index, product.block));
  }

  /// What a tile has brought to the second-level cache, a line with each step of k: of the panel
  /// that comes in the place of its own the next part, so that by then all of it is there. A panel
  /// that is made for this call is there: the same line again and again costs nothing.
  std::pair<Value*, I64> fetched_later(const ProductValues& product, const Tile& tile) {
    Value* part = b_.CreateMul(product.k, number(kLineBytes));
    Value* offset = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateMul(tile.index, part),
                                             b_.CreateSub(product.block, part));
    Value* kept = b_.CreateICmpSGT(product.block, number(0));
    Value* panel = panel_of(product, tile.later);
    return {b_.CreateSelect(kept, at(panel, offset), product.panels),
            b_.CreateSelect(kept, number(kLineBytes), number(0))};
  }

  /// Two tiles of columns at a time, whose panel stays in the first-level cache, by two tiles of
  /// rows, or one where there are no more.
  void emit_tile_products(const Tile& of) {
    int64_t offset = 0;
    for (size_t p = 0; p < products_.size(); ++p) {
      const int tiles = program_.products[p].parts * shape_.width() / kTileColumns;
      for (int tile = 0; tile < tiles; tile += 2) {
        loop(number(0), of.count, 2 * kTileRows, "rows", [&](I64 m) {
          Value* row = b_.CreateAdd(of.row, m);
          Value* to = at(at(of.sums, b_.CreateMul(m, of.sums_row)), offset + tile * kTileRowBytes);
          Value* rows = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number(2 * kTileRows),
                                                 b_.CreateSub(of.count, m));
          const auto product = [&](int row_tiles) {
            emit_tile_product(products_[p],
                              {row_tiles, std::min(2, tiles - tile), tiles, bf16_parts_of(p)},
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

  int bf16_parts_of(size_t product) const { return bf16_parts(program_.products[product].factors); }

  /// Rows from the first, so many of them.
  struct Rows {
    I64 first, count;
  };

  void emit_tile_product(const ProductValues& product, const TileProductLoop& loop,
                         const Rows& rows, I64 column, int tile, Value* sums, I64 sums_row) {
    Value* left = at(product.a, b_.CreateMul(rows.first, product.a_row));
    Value* left_tile = b_.CreateMul(product.a_row, number(kTileRows));
    Value* panel = at(panel_of(product, column), int64_t(tile) * kTileBytes);
    b_.CreateCall(define_tile_product(kernel_, loop),
                  {left, left_tile, panel, product.k, sums, sums_row, first_, rows.count});
  }

  llvm::IRBuilder<> builder_;
  CodeModule& kernel_;
  const NestProgram& program_;
  const TileShape shape_;
  const bool by_matrix_tiles_;
  BodyEmitter body_;
  Value *row_begin_ = nullptr, *row_end_ = nullptr, *column_begin_ = nullptr,
        *column_end_ = nullptr;
  Value *partial_ = nullptr, *partial_row_ = nullptr, *first_ = nullptr, *last_ = nullptr;
  std::vector<ProductValues> products_;
};

}  // namespace

void emit_nest(CodeModule& kernel, std::string_view name, const NestProgram& program,
               const TileShape& shape) {
  NestEmitter(kernel, program, shape).emit(name);
}

}  // namespace graphc::cpu
