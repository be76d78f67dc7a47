// SPDX-License-Identifier: Apache-2.0
// Overlaps the body of a tile with the products of the next one. Matrix tiles are multiplied in a
// separate unit of the core, which would be idle while bodies run. So the sums of a tile are kept
// in memory, and after every few term tiles of the next tile's products one of the waiting rows is
// finished in line, or a few in a call. LLVM's types appear by name only.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "codegen/machine.h"
#include "codegen/targets/cpu/emit/emit_body.h"
#include "codegen/targets/cpu/emit/emit_loops.h"
#include "codegen/targets/cpu/jit/code_module.h"
#include "codegen/walk/nest_abi.h"

namespace graphc::core::cpu {

/// A tile whose sums are complete and whose body has not run yet, on the stack of a nest.
struct WaitingTile {
  const NestArguments* arguments = nullptr;  ///< of the nest
  int64_t row = 0, column = 0;               ///< of its first element
  const void* sums = nullptr;
  int64_t sums_row = 0;  ///< bytes from one row to the next
  /// The rows still to be finished, counted from the tile's first row.
  int64_t next = 0, end = 0;
  int64_t at_once = 1;  ///< rows that are finished at a time
  int64_t every = 1;    ///< term tiles from one time to the next
  int64_t clock = 0;    ///< term tiles until the next rows are due
  /// The first row and column of the tile being multiplied. The memory that its body will access is
  /// prefetched row by row.
  int64_t ahead_row = 0, ahead_column = 0;
};

/// No tile waits: larger than any number of term tiles.
inline constexpr int64_t kNothingWaits = INT64_MAX;

/// Finishes rows of a nest's tiles.
struct FinishRows {
  const NestProgram& program;
  TileShape shape;
  /// A function of the nest's module that finishes the next `rows` rows of a tile and returns the
  /// new value of its clock: i64 finish_rows(ptr waiting, i64 rows).
  llvm::Function* function = nullptr;
};

/// Defines the function. `program` must outlive the emission of the module.
FinishRows define_finish_rows(CodeModule& kernel, const NestProgram& program,
                              const TileShape& shape);

/// Loads NestArguments::operands at the builder's insertion point.
std::vector<OperandValues> load_operands(llvm::IRBuilderBase& builder, const NestProgram& program,
                                         llvm::Value* operands);

/// Emits the body for rows of a tile at its builder's insertion point in `function`.
class RowsFinisher : private LoopEmitter {
 public:
  struct Tile {
    llvm::Value *row, *column;     ///< of its first element
    llvm::Value *sums, *sums_row;  ///< address of the sums, and bytes from one row to the next
    llvm::Value* end;              ///< number of rows
  };

  /// Interleaves `at_once` rows. `builder` and `body` must outlive it.
  RowsFinisher(llvm::IRBuilderBase& builder, BodyEmitter& body, const TileShape& shape, int at_once,
               llvm::Function* function)
      : LoopEmitter(builder), body_(body), shape_(shape), at_once_(at_once) {
    function_ = function;
  }

  /// Finishes row `m` and the following ones, as many as are interleaved and the tile has, for all
  /// columns before `column_end`.
  void finish(const Tile& tile, llvm::Value* m, llvm::Value* column_end);
  /// The same without a loop, for a tile that has all its columns.
  void finish_in_line(const Tile& tile, llvm::Value* m);

 private:
  using Places = std::vector<BodyEmitter::Place>;
  /// The rows, and for each after the first whether it exists.
  std::pair<Places, Values> begin(const Tile& tile, llvm::Value* m);
  void finish_vector(const Tile& tile, const Places& rows, const Values& is_row, I64 column,
                     bool whole);

  BodyEmitter& body_;
  const TileShape shape_;
  const int at_once_;
};

/// Finishes rows of the waiting tile, in a function called while the tile waits.
class WaitingRows : private LoopEmitter {
 public:
  /// Constructed at the entry of the function. `builder` must outlive it.
  WaitingRows(CodeModule& kernel, llvm::IRBuilderBase& builder, const FinishRows& finish,
              llvm::Function* function, llvm::Value* waiting);

  /// The number of interleaved rows.
  int at_once() const { return body_.places_at_once(); }

  /// Finishes the next `rows` rows, in a loop.
  void finish(llvm::Value* rows);
  /// Whether the tile has all its columns.
  llvm::Value* is_whole();
  /// Finishes the next row of such a tile, in line.
  void finish_one();
  /// The new value of the clock.
  llvm::Value* clock();

 private:
  void fetch(I64 m);
  Value* field(size_t offset);

  const NestProgram& program_;
  const TileShape shape_;
  BodyEmitter body_;
  Value* waiting_;
  std::vector<OperandValues> operands_;
  RowsFinisher::Tile tile_;
  Value* column_end_ = nullptr;
  I64 ahead_row_ = nullptr, ahead_column_ = nullptr;
};

}  // namespace graphc::core::cpu
