// SPDX-License-Identifier: Apache-2.0
// The straight-line body of a nest as LLVM code: its instructions on vectors of columns, their
// loads and stores, and the accumulators of its reductions. LLVM's types appear by name only.
#pragma once

#include <functional>
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

/// The loaded fields of NestOperandArguments: a pointer (an integer for iota) and strides.
struct OperandValues {
  llvm::Value *base, *row, *part, *column;
};

/// Emits the body of one nest at the builder's insertion point; the caller emits the loops around
/// it. Rows, columns and column_end are i64 values in rows and units; masks are <lanes x i1>.
class BodyEmitter {
 public:
  using Values = std::vector<llvm::Value*>;

  /// One accumulator: a vector that a reduction adds to or takes the maximum with.
  struct Reduction {
    int operand, part;
    DType dtype;
    bool maximum;
  };

  /// The number of terms of one accumulator in a long reduction. A second accumulator sums up to as
  /// many such pieces, and a third the rest. So the error of a sum grows with these numbers, not
  /// with the extent.
  static constexpr int64_t kTermsOfPiece = 256;

  /// The position of a vector of elements: indices, a mask of the lanes inside the columns (null:
  /// all lanes), and the address of the finished sums of this row and vector. A member is null at
  /// levels that do not have it.
  struct Place {
    llvm::Value *row = nullptr, *column = nullptr, *mask = nullptr, *sums = nullptr;
  };

  /// `builder` and `program` must outlive the emitter.
  BodyEmitter(const CpuFeatures& cpu, llvm::IRBuilderBase& builder, const NestProgram& program);

  /// Sets the loaded arguments of all operands, in order, and the end of the columns. Must precede
  /// all emission.
  void set_arguments(std::vector<OperandValues> operands, llvm::Value* column_end);

  /// Emits the instructions of one level for one place, or for several, interleaved instruction by
  /// instruction, so that the latency of one is hidden by the others. Values of a level emitted for
  /// one place hold for all places of the levels below. Throws ErrorKind::input for an operation
  /// that the CPU target has no code for.
  void run_level(Level level, std::span<const Place> places);
  void run_level(Level level, const Place& place) { run_level(level, {&place, 1}); }
  void run_level(Level level) { run_level(level, Place()); }

  /// The addresses where a row begins, one for each operand whose address moves with the row.
  Values starts_of(llvm::Value* row);
  /// The same for the row behind.
  Values starts_behind(const Values& starts);
  /// From here on, elements of the row are found from its start. Without it each would multiply,
  /// for LLVM moves no multiplication out of the loop over the columns. run_level(Level::row) does
  /// it for its rows.
  void set_starts(llvm::Value* row, const Values& starts) { starts_[row] = starts; }

  /// How many interleaved places keep a processor busy: more if an element's instructions form
  /// longer dependency chains.
  int places_at_once() const;

  /// The operands that are read or written along each row, at an address of its own.
  int moving_operands() const;
  /// The arithmetic of an element, in additions.
  int cost_of_element() const;

  /// The memory that the elements of a block's columns read and write and whose address moves with
  /// the row.
  std::vector<FetchedPart> fetched_parts() const;

  /// Whether from here on a vector with a mask is never whole, because whole ones have code of
  /// their own.
  void set_masks_for_rest(bool rest) { masks_for_rest_ = rest; }
  /// A mask of the lanes, of a vector that begins at `column`, that are before column_end.
  llvm::Value* mask_at(llvm::Value* column);
  /// The same, and empty if the row does not exist.
  llvm::Value* mask_at(llvm::Value* column, llvm::Value* is_row);

  /// The accumulators of the body; along a row all parts share one.
  std::vector<Reduction> reductions() const;
  /// The initial value of a reduction, in every lane.
  llvm::Value* identity(const Reduction& r);
  /// Sets the accumulators of `all`, of one place, to `values[offset...]`.
  void set_accumulators(const std::vector<Reduction>& all, const Values& values, size_t offset = 0,
                        size_t place = 0);
  /// Appends the current accumulators of `all`.
  void append_accumulators(const std::vector<Reduction>& all, Values& values, size_t place = 0);
  /// Combines two accumulators of one reduction.
  llvm::Value* join(const Reduction& r, llvm::Value* x, llvm::Value* y);
  /// Combines the lanes of a finished accumulator and stores the one element of `row`.
  void store_row(const Reduction& r, llvm::Value* row, llvm::Value* lanes);
  /// The same for the first `count` of as many rows as a vector has lanes, from `row` on, with one
  /// accumulator for each row.
  void store_rows(const Reduction& r, llvm::Value* row, llvm::Value* count, Values rows);
  /// Stores a finished accumulator, one column per lane.
  void store_columns(const Reduction& r, llvm::Value* column, llvm::Value* mask,
                     llvm::Value* values);

 private:
  void run(const NestInstruction& in, size_t index, const Place& place);
  llvm::Value* number(int64_t value);
  llvm::Value* at(llvm::Value* pointer, llvm::Value* bytes);
  llvm::Value* mask_of(llvm::Value* lanes);
  llvm::Value* all_lanes();
  /// `other` plus the product that instruction `product` is, or minus it, in one rounding.
  llvm::Value* fused(int product, bool negated, llvm::Value* other);
  llvm::Value* scalar(const NestInstruction& in, size_t index);

  bool moves_with_row(size_t operand) const;
  llvm::Value* start(size_t index, llvm::Value* row);
  /// The address of an operand's element; row and column may be null at the levels without them.
  llvm::Value* address(int index, int part, llvm::Value* row, llvm::Value* column);
  llvm::Type* stored_type(DType dtype);
  /// Converts a value in registers, vector or scalar, to its form in memory, and back.
  llvm::Value* as_stored(DType dtype, llvm::Value* value);
  llvm::Value* as_loaded(DType dtype, llvm::Value* value);
  llvm::Value* lane_pointers(llvm::Value* pointer, llvm::Value* stride);
  llvm::Value* lane_numbers(llvm::Type* type);
  llvm::Value* load_operand(const NestInstruction& in, llvm::Value* row, llvm::Value* column,
                            llvm::Value* mask);
  llvm::Value* load_iota(const NestInstruction& in, llvm::Value* row, llvm::Value* column);
  void store_operand(const NestInstruction& in, llvm::Value* row, llvm::Value* column,
                     llvm::Value* mask);
  llvm::Value* emit_either(llvm::Value* condition, const std::function<llvm::Value*()>& one,
                           const std::function<llvm::Value*()>& other);
  llvm::Value* access_lanes(llvm::Value* mask,
                            const std::function<llvm::Value*(llvm::Value* mask)>& access);
  void store_vector(const NestOperand& operand, llvm::Value* value, llvm::Value* pointer,
                    llvm::Value* mask);
  llvm::Value* load_sum(const NestInstruction& in, llvm::Value* tile);

  void reduce(const NestInstruction& in, size_t index, llvm::Value* mask);
  /// The result of a reduction in its stored form.
  llvm::Value* finished(const Reduction& r, llvm::Value* value);
  llvm::Value* across_lanes(const Reduction& r, llvm::Value* value);
  llvm::Value* across_lanes(const Reduction& r, Values rows);

  CpuFeatures cpu_;  // bodies are emitted for it
  llvm::IRBuilderBase& b_;
  const NestProgram& program_;
  const TileShape shape_;
  llvm::Value* column_end_ = nullptr;
  std::vector<OperandValues> operands_;
  std::vector<Level> levels_;    // of each instruction
  std::vector<int> product_of_;  // that each adds in one rounding (contracted_products.h)
  std::vector<bool> is_fused_;   // whether each is such a product
  static constexpr size_t kMostPlaces = 4;
  Values values_[kMostPlaces];  // the value of each instruction; null before it is emitted
  size_t place_ = 0;            // index of the values in use
  std::map<llvm::Value*, Values> starts_;  // by row
  bool masks_for_rest_ = false;
  /// By operand, part and place.
  std::map<std::tuple<int, int, size_t>, llvm::Value*> accumulators_;
};

}  // namespace graphc::core::cpu
