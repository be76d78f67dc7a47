// SPDX-License-Identifier: Apache-2.0
// The body of a tile beside the products of the next one. Matrix tiles multiply in a unit of their
// own, which nothing else of a core needs and which would stand still behind the products. So the
// sums of a tile wait in memory, and every few tiles of terms of the next tile's products one of
// its rows is finished among them, or a few in a call. LLVM's types appear by name only.
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

/// What finishes rows of a nest's tiles.
struct FinishRows {
  const NestProgram& program;
  TileShape shape;
  /// A function of the nest's module that finishes the next `rows` of a tile and returns what its
  /// clock is then: i64 finish_rows(ptr waiting, i64 rows).
  llvm::Function* function = nullptr;
};

/// Makes the function. `program` must outlive the emission of the module.
FinishRows define_finish_rows(CodeModule& kernel, const NestProgram& program,
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
  /// The same without a loop, of a tile that has all its columns.
  void finish_in_line(const Tile& tile, llvm::Value* m);

 private:
  using Places = std::vector<BodyEmitter::Place>;
  /// The rows; of each, after the first, whether there is one.
  std::pair<Places, Values> begin(const Tile& tile, llvm::Value* m);
  void finish_vector(const Tile& tile, const Places& rows, const Values& is_row, I64 column,
                     bool whole);

  BodyEmitter& body_;
  const TileShape shape_;
  const int at_once_;
};

/// Finishes rows of the tile that waits, in a function that is called while it does.
class WaitingRows : private LoopEmitter {
 public:
  /// At the entry of the function. `builder` must outlive it.
  WaitingRows(CodeModule& kernel, llvm::IRBuilderBase& builder, const FinishRows& finish,
              llvm::Function* function, llvm::Value* waiting);

  /// How many rows are done side by side.
  int at_once() const { return body_.places_at_once(); }

  /// The next `rows`, in a loop.
  void finish(llvm::Value* rows);
  /// Whether the tile has all its columns.
  llvm::Value* is_whole();
  /// The next row of such a tile, in line.
  void finish_one();
  /// What the clock is then.
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
