// SPDX-License-Identifier: Apache-2.0
// The body of a tile beside the products of the next one. Matrix tiles multiply in a unit of their
// own, which nothing else of a core needs and which would stand still behind the products. So the
// sums of a tile wait in memory, and every few tiles of terms of the next tile's products a few of
// its rows are finished. LLVM's types appear by name only.
#pragma once

#include <cstdint>

#include "codegen/cpu/emit_body.h"
#include "codegen/cpu/emit_internal.h"
#include "codegen/cpu/emit_loops.h"
#include "codegen/cpu/nest_abi.h"
#include "codegen/machine.h"

namespace graphc::cpu {

/// A tile whose sums are there and whose body is not done yet, on the stack of a nest.
struct WaitingTile {
  const NestArguments* arguments = nullptr;  ///< of the nest
  int64_t row = 0, column = 0;               ///< its first ones
  const void* sums = nullptr;
  int64_t sums_row = 0;  ///< bytes from one row to the next
  /// Rows that are to be finished, counted from its first one.
  int64_t next = 0, end = 0;
  int64_t at_once = 1;  ///< how many are finished at a time,
  int64_t every = 1;    ///< after so many tiles of terms
  int64_t clock = 0;    ///< tiles of terms until it is time
  /// The first row and column of the tile that is being multiplied: what its body will read and
  /// write is fetched row by row.
  int64_t ahead_row = 0, ahead_column = 0;
};

/// Nothing waits: later than any number of tiles of terms.
inline constexpr int64_t kNothingWaits = INT64_MAX;

/// A function of its own in a module of a nest by matrix tiles, made once: finishes the next
/// `at_once` rows of a tile and returns what its clock is then.
///
///   i64 finish_rows(ptr waiting)
llvm::Function* define_finish_rows(CodeModule& kernel, const NestProgram& program,
                                   const TileShape& shape);

/// Loads NestArguments::operands where a builder stands.
std::vector<OperandValues> load_operands(llvm::IRBuilderBase& builder, const NestProgram& program,
                                         llvm::Value* operands);

/// Emits the body of rows of a tile where its builder stands in `function`.
class RowsFinisher : private LoopEmitter {
 public:
  struct Tile {
    llvm::Value *row, *column;     ///< its first ones
    llvm::Value *sums, *sums_row;  ///< where the sums are, and bytes from one row to the next
    llvm::Value* end;              ///< rows
  };

  /// `at_once` rows are done side by side. `builder` and `body` must outlive it.
  RowsFinisher(llvm::IRBuilderBase& builder, BodyEmitter& body, const TileShape& shape, int at_once,
               llvm::Function* function)
      : LoopEmitter(builder), body_(body), shape_(shape), at_once_(at_once) {
    function_ = function;
  }

  /// Rows `m` and following, as many as are done at once and the tile has; all columns before
  /// `column_end`.
  void finish(const Tile& tile, llvm::Value* m, llvm::Value* column_end);

 private:
  BodyEmitter& body_;
  const TileShape shape_;
  const int at_once_;
};

}  // namespace graphc::cpu
