// SPDX-License-Identifier: Apache-2.0
// The sums of a nest's products, tile by tile: what is called with which panels, and what is
// fetched meanwhile. LLVM's types appear by name only.
#pragma once

#include <utility>
#include <vector>

#include "codegen/machine.h"
#include "codegen/targets/cpu/emit/emit_loops.h"
#include "codegen/targets/cpu/emit/emit_product.h"
#include "codegen/targets/cpu/emit/emit_tile_product.h"
#include "codegen/targets/cpu/jit/code_module.h"

namespace graphc::core::cpu {

/// The fields of NestProductArguments, loaded.
struct ProductValues {
  llvm::Value *a, *a_row, *a_k, *panels, *block, *k;
};

/// A tile of sums where code is emitted for it.
struct SumsTile {
  llvm::Value *row, *column, *count;  ///< first row, first column, number of rows
  llvm::Value* columns;               ///< how many the call has from the first column on
  llvm::Value *sums, *sums_row;       ///< where they are, and bytes from one row to the next
  llvm::Value* index;                 ///< how many tiles of this block come before
  llvm::Value* block;                 ///< how many blocks of this group come before
  llvm::Value* later;                 ///< the column of the block whose panels come in its place
};

/// How the blocks of a call are gone through: all of a group for each tile of rows.
struct PanelGroups {
  llvm::Value* blocks = nullptr;   ///< of a group, at most
  llvm::Value* several = nullptr;  ///< whether there are several groups
};

/// The loops that the products of a nest call, where they are by no matrix tiles.
std::vector<ProductLoops> product_loops_of(const NestProgram& program);

/// Emits where its builder stands.
class SumsEmitter : private LoopEmitter {
 public:
  /// `builder` and `program` must outlive the emitter.
  SumsEmitter(CodeModule& kernel, llvm::IRBuilderBase& builder, const NestProgram& program);

  /// Bytes of the sums of one row of a tile, over all products.
  int64_t row_bytes() const;

  /// Where the arguments are loaded: `first` is whether there are no sums of terms before.
  void begin(llvm::Function* function, std::vector<ProductValues> products, llvm::Value* first);

  /// How many blocks are a group of so many bytes.
  llvm::Value* blocks_in_group(llvm::Value* group_bytes);

  /// Before the first tile, where all tiles can see it.
  void set_groups(const PanelGroups& groups);

  /// The sums of all products.
  void emit(const SumsTile& tile);

  /// By matrix tiles: the same, while rows of the tile that waits are finished (emit_finish.h);
  /// where MatrixTiles::dot_products nothing waits, and both are null.
  void emit_by_matrix_tiles(const SumsTile& tile, const FinishRows* finish, llvm::Value* waiting);

  /// How many tiles of terms are multiplied for a whole tile of sums, two by two.
  llvm::Value* term_tiles_of_tile();

 private:
  /// Some of the vectors of a product's tile, from the first.
  struct Vectors {
    int first, count;
  };
  void emit_product(size_t p, const SumsTile& tile, Value* sums, const Vectors& vectors);
  Value* panel_of(const ProductValues& product, I64 column);

  /// Lines that a product has brought to the second-level cache, one with each step of k.
  struct Fetched {
    Value* address;
    I64 step;
  };
  Fetched fetched(size_t p, const SumsTile& tile);

  /// The term tiles of a product.
  I64 term_tiles_of(const ProductValues& product);

  CodeModule& kernel_;
  const NestProgram& program_;
  const TileShape shape_;
  std::vector<ProductValues> products_;
  Value* first_ = nullptr;
  PanelGroups groups_;
  /// Of each product: how many bytes of a tile of left rows a block fetches, and with each step.
  struct LeftPart {
    I64 bytes, step;
  };
  std::vector<LeftPart> left_;
};

}  // namespace graphc::core::cpu
