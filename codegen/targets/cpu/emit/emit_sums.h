// SPDX-License-Identifier: Apache-2.0
// The sums of a nest's products, tile by tile: which loops are called with which panels, and what
// is prefetched meanwhile. LLVM's types appear by name only.
#pragma once

#include <utility>
#include <vector>

#include "codegen/machine.h"
#include "codegen/targets/cpu/emit/emit_loops.h"
#include "codegen/targets/cpu/emit/emit_product.h"
#include "codegen/targets/cpu/emit/emit_tile_product.h"
#include "codegen/targets/cpu/jit/code_module.h"

namespace graphc::core::cpu {

/// The loaded fields of NestProductArguments.
struct ProductValues {
  llvm::Value *a, *a_row, *a_k, *panels, *block, *k;
};

/// A tile of sums, at the point where its code is emitted.
struct SumsTile {
  llvm::Value *row, *column, *count;  ///< first row, first column, number of rows
  llvm::Value* columns;               ///< columns of the call from the first one on
  llvm::Value *sums, *sums_row;       ///< address of the sums, and bytes from one row to the next
  llvm::Value* index;                 ///< number of earlier tiles of this block
  llvm::Value* block;                 ///< number of earlier blocks of this group
  llvm::Value* later;                 ///< column of the block whose panels replace this block's
};

/// The division of a call's blocks into groups: each tile of rows visits all blocks of a group.
struct PanelGroups {
  llvm::Value* blocks = nullptr;   ///< at most, in a group
  llvm::Value* several = nullptr;  ///< whether there are several groups
};

/// The loops that the products of a nest call, unless they use matrix tiles.
std::vector<ProductLoops> product_loops_of(const NestProgram& program);

/// Emits code at its builder's insertion point.
class SumsEmitter : private LoopEmitter {
 public:
  /// `builder` and `program` must outlive the emitter.
  SumsEmitter(CodeModule& kernel, llvm::IRBuilderBase& builder, const NestProgram& program);

  /// Bytes of the sums of one row of a tile, over all products.
  int64_t row_bytes() const;

  /// Starts emission, after the arguments are loaded. `first`: whether there are no sums of earlier
  /// terms.
  void begin(llvm::Function* function, std::vector<ProductValues> products, llvm::Value* first);

  /// The number of blocks in a group of `group_bytes` bytes.
  llvm::Value* blocks_in_group(llvm::Value* group_bytes);

  /// Called before the first tile, at a point that dominates all tiles.
  void set_groups(const PanelGroups& groups);

  /// Emits the sums of all products.
  void emit(const SumsTile& tile);

  /// The same by matrix tiles, while rows of the waiting tile are finished (emit_finish.h). With
  /// MatrixTiles::dot_products no tile waits, and both are null.
  void emit_by_matrix_tiles(const SumsTile& tile, const FinishRows* finish, llvm::Value* waiting);

  /// The number of term tiles multiplied for a whole tile of sums, counted per block of two by two
  /// tiles.
  llvm::Value* term_tiles_of_tile();

 private:
  /// Some of the vectors of a product's tile, from the first on.
  struct Vectors {
    int first, count;
  };
  void emit_product(size_t p, const SumsTile& tile, Value* sums, const Vectors& vectors);
  Value* panel_of(const ProductValues& product, I64 column);

  /// Lines that a product prefetches into the second-level cache, one with each step of k.
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
  /// For each product: the bytes of a tile of left rows that a block prefetches, in all and per
  /// step.
  struct LeftPart {
    I64 bytes, step;
  };
  std::vector<LeftPart> left_;
};

}  // namespace graphc::core::cpu
