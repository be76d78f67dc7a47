// SPDX-License-Identifier: Apache-2.0
// The straight-line body of a nest as LLVM code: its instructions on vectors of columns, what they
// load and store, and the accumulators of its reductions. LLVM's types appear by name only.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/machine.h"
#include "codegen/nest/levels.h"
#include "codegen/targets/cpu/emit/emit_fetch.h"
#include "codegen/targets/cpu/jit/code_module.h"

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace graphc::core::cpu {

/// The fields of NestOperandArguments, loaded: a pointer (an integer for iota) and strides.
struct OperandValues {
  llvm::Value *base, *row, *part, *column;
};

/// Emits the body of one nest where the builder stands; the loops around it are its caller's.
/// Rows, columns and column_end are i64 values in rows and units, masks are <lanes x i1>.
class BodyEmitter {
 public:
  using Values = std::vector<llvm::Value*>;

  /// One accumulator: a vector that a reduction adds to, or takes the maximum with.
  struct Reduction {
    int operand, part;
    DType dtype;
    bool maximum;
  };

  /// How many terms an accumulator takes where a reduction is long: another takes the sums of as
  /// many such pieces, the last the rest. So the error of a sum grows with these, not with the
  /// extent.
  static constexpr int64_t kTermsOfPiece = 256;

  /// Where a vector of elements is: indices, the lanes inside the columns (null: all of them),
  /// where the finished sums of this row and vector are; each null where a level has none.
  struct Place {
    llvm::Value *row = nullptr, *column = nullptr, *mask = nullptr, *sums = nullptr;
  };

  /// `builder` and `program` must outlive the emitter.
  BodyEmitter(const CpuFeatures& cpu, llvm::IRBuilderBase& builder, const NestProgram& program);

  /// The loaded arguments of all operands, in order, and where the columns end: before anything is
  /// emitted.
  void set_arguments(std::vector<OperandValues> operands, llvm::Value* column_end);

  /// Emits the instructions of one level for one place, or for several side by side, instruction by
  /// instruction: so that what one waits for is done for another. What a level has for one place
  /// holds for all of the levels below. Throws ErrorKind::input for what the CPU target has no code
  /// for.
  void run_level(Level level, std::span<const Place> places);
  void run_level(Level level, const Place& place) { run_level(level, {&place, 1}); }
  void run_level(Level level) { run_level(level, Place()); }

  /// How many places side by side keep a processor busy: the longer an element's instructions wait
  /// for each other, the more.
  int places_at_once() const;

  /// What the elements of a block's columns read and write that moves with the row.
  std::vector<FetchedPart> fetched_parts() const;

  /// Lanes of a vector beginning at `column` that lie before column_end.
  llvm::Value* mask_at(llvm::Value* column);
  /// The same, and none where the row is none.
  llvm::Value* mask_at(llvm::Value* column, llvm::Value* is_row);

  /// The accumulators of the body: along a row all parts share one.
  std::vector<Reduction> reductions() const;
  /// What a reduction begins with, in every lane.
  llvm::Value* identity(const Reduction& r);
  /// Lets `all` go on from `values[offset...]`; of sums over rows, those of a place.
  void set_accumulators(const std::vector<Reduction>& all, const Values& values, size_t offset = 0,
                        size_t place = 0);
  /// Appends what `all` have come to.
  void append_accumulators(const std::vector<Reduction>& all, Values& values, size_t place = 0);
  /// Two accumulators of one reduction as one.
  llvm::Value* join(const Reduction& r, llvm::Value* x, llvm::Value* y);
  /// Joins the lanes of a finished accumulator and stores the one element of `row`.
  void store_row(const Reduction& r, llvm::Value* row, llvm::Value* lanes);
  /// Stores a finished accumulator, a column for each lane.
  void store_columns(const Reduction& r, llvm::Value* column, llvm::Value* mask,
                     llvm::Value* values);

 private:
  void run(const NestInstruction& in, size_t index, const Place& place);
  llvm::Value* number(int64_t value);
  llvm::Value* at(llvm::Value* pointer, llvm::Value* bytes);
  llvm::Value* mask_of(llvm::Value* lanes);
  llvm::Value* all_lanes();
  void allow_fused(ScalarOp op);
  llvm::Value* scalar(const NestInstruction& in);

  /// Where an operand's element is; row and column may be null at the levels that have none.
  llvm::Value* address(int index, int part, llvm::Value* row, llvm::Value* column);
  llvm::Type* stored_type(DType dtype);
  /// A value of registers, vector or number, as it is in memory, and the other way.
  llvm::Value* as_stored(DType dtype, llvm::Value* value);
  llvm::Value* as_loaded(DType dtype, llvm::Value* value);
  llvm::Value* lane_pointers(llvm::Value* pointer, llvm::Value* stride);
  llvm::Value* lane_numbers(llvm::Type* type);
  llvm::Value* load_operand(const NestInstruction& in, llvm::Value* row, llvm::Value* column,
                            llvm::Value* mask);
  llvm::Value* load_iota(const NestInstruction& in, llvm::Value* row, llvm::Value* column);
  void store_operand(const NestInstruction& in, llvm::Value* row, llvm::Value* column,
                     llvm::Value* mask);
  void store_vector(const NestOperand& operand, llvm::Value* value, llvm::Value* pointer,
                    llvm::Value* mask);
  llvm::Value* load_sum(const NestInstruction& in, llvm::Value* tile);

  void reduce(const NestInstruction& in, llvm::Value* mask);
  /// What a reduction has come to, as it is stored.
  llvm::Value* finished(const Reduction& r, llvm::Value* value);
  llvm::Value* across_lanes(const Reduction& r, llvm::Value* value);

  CpuFeatures cpu_;  // with which bodies are emitted
  llvm::IRBuilderBase& b_;
  const NestProgram& program_;
  const TileShape shape_;
  llvm::Value* column_end_ = nullptr;
  std::vector<OperandValues> operands_;
  std::vector<Level> levels_;  // of each instruction
  static constexpr size_t kMostPlaces = 4;
  Values values_[kMostPlaces];  // what each instruction has, null before it ran
  size_t place_ = 0;            // whose are read and written
  /// By operand, part and, of sums over rows, place: each has columns of its own.
  std::map<std::tuple<int, int, size_t>, llvm::Value*> accumulators_;
};

}  // namespace graphc::core::cpu
