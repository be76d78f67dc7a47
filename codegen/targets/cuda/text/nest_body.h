// SPDX-License-Identifier: Apache-2.0
// The body of a nest as CUDA text, for one element.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/nest/levels.h"
#include "codegen/targets/cuda/text/loaded_text.h"
#include "codegen/targets/cuda/text/nest_parameters.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// A sum or a maximum that a nest computes, and the variable that accumulates it.
struct Reduction {
  int operand = 0;
  int part = 0;  ///< along rows all parts are one
  DType dtype = DType::f32;
  bool maximum = false;
  std::string name;

  /// The value for no terms.
  std::string identity() const;
  std::string join(const std::string& x, const std::string& y) const;
};

/// Writes the instructions of a program. In scope are the parameters, `row` and `column`, and
/// `outer_0`, ... for the outer axes.
class NestBody {
 public:
  /// The text of a product's sum for a part.
  using SumText = std::function<std::string(int product, int part)>;

  NestBody(const NestProgram& program, const std::vector<Parameter>& parameters, SumText sum = {});

  /// From now on these stores also write to the shared memory of the cluster's blocks.
  void hand_on(std::vector<HandedOn> stores) { handed_on_ = std::move(stores); }

  const NestProgram& program() const { return program_; }
  const std::vector<Reduction>& reductions() const { return reductions_; }
  /// A unique name.
  std::string make_name(std::string_view wanted) { return names_.make(wanted); }
  /// The name of a parameter; empty if it does not exist.
  std::string name_of(ParameterKind kind, int index, int axis = 0) const;

  /// Writes the instructions of a level. Loads are executed only where `when` holds: a thread
  /// without work must not read memory that another one writes.
  void write(TextWriter& text, Level level, const std::string& when = {});
  /// From now on a load of an element is what these registers hold for `at_row` and `at_column`.
  void hold_load(size_t load, const std::string& name) { held_[load] = name; }
  /// From now on this array keeps the values of an instruction, for `at_row` and `at_column`.
  void keep_values(size_t instruction, std::string name) { kept_values_[instruction] = name; }
  /// From now on a load or a store of a number of a row is of this register, given as text.
  void hold_number(size_t access, std::string place) { numbers_[access] = std::move(place); }
  /// Stores such a register in memory.
  void store_number(TextWriter& text, size_t store) const;
  /// The same as hold_load() for registers that load_held() fills, those of registers_of().
  void hold_load_ahead(size_t load, const std::string& name) {
    ahead_[load] = registers_of(load, name);
    given_.insert(load);
  }
  /// Loads it there, if it is one of the accesses of that width.
  void load_held(TextWriter& text, size_t load, Columns columns) const;
  /// Registers of this name for a load.
  LoadedRegisters registers_of(size_t load, const std::string& name) const;
  /// From now on these loads and stores of elements have `column` and the column behind it, at
  /// `at_column` and behind that in registers. Memory is aligned for them, and has both.
  void pair(const std::vector<size_t>& accesses) { pairs_ = {accesses.begin(), accesses.end()}; }
  /// From now on stores of two columns round to bf16 themselves what the program rounds for them.
  /// Nobody else may read the registers that keep it: a loop hands them on.
  void leave_rounding_to_stores() { stores_round_ = true; }
  /// From now on these loads of elements, which have no rows, are loaded once for all rows.
  void share_rows(const std::vector<size_t>& loads) {
    for_all_rows_ = {loads.begin(), loads.end()};
  }
  /// From now on a store of elements keeps its values in these registers; store_kept() leaves it
  /// out unless it goes to memory too.
  void hold_store(size_t store, std::string name, bool in_memory);
  /// From now on a store of elements whose values are kept in registers does not go to memory.
  void leave_out_of_memory(size_t store) { not_stored_.insert(store); }
  /// Those whose operands have no rows.
  std::vector<size_t> loads_of_columns() const;
  /// Number of loads per element that are not held.
  size_t element_loads() const { return loads_of_elements().size(); }
  /// From now on the loads of elements are in registers, for `rows` and `columns` of a thread:
  /// zeros where nothing is loaded.
  void declare_ahead(TextWriter& text, int rows, int columns);
  /// Loads those of that width, for `at_row` and `at_column`; and those that are the same for all
  /// rows, for `at_column`.
  void load_ahead(TextWriter& text, Columns columns = Columns::one) const;
  void load_columns_ahead(TextWriter& text, Columns columns = Columns::one) const;
  /// From now on stores of elements keep their values in registers, for `rows` and `columns` of a
  /// thread.
  void declare_kept(TextWriter& text, int rows, int columns);
  /// From now on registers of stores are zero where the `when` of write() does not hold: others
  /// multiply with them. Reductions leave out what is not there.
  void keep_zeros_elsewhere() { zeros_elsewhere_ = true; }
  /// The register that has the value for a part of a stored operand, without indices.
  std::string kept_name(int operand, int part) const;
  /// Stores those of that width, for `at_row` and `at_column`.
  void store_kept(TextWriter& text, Columns columns) const;
  /// Writes the result of a reduction.
  void write_result(TextWriter& text, const Reduction& reduction, const std::string& value) const;

  /// The sum of the terms of an index: "row * x_row + column"; "0" if there are none.
  static std::string sum_of(const std::vector<std::string>& terms);
  /// The terms that the outer axes add to the index of an operand or of a left operand.
  std::vector<std::string> outer_terms(ParameterKind kind, int index) const;

 private:
  std::vector<size_t> loads_of_elements() const;
  int before_rounding(int value) const;
  std::string guard_of(const NestOperand& operand) const;
  bool is_of(size_t access, Columns columns) const {
    return pairs_.contains(access) == (columns == Columns::two);
  }
  void load_ahead(TextWriter& text, Columns columns, bool by_row) const;
  void load_into(TextWriter& text, size_t load, Columns columns) const;
  std::string element(int operand, int part) const;
  std::string index_of(int operand, int part, bool with_row, bool with_column) const;
  void write_load(TextWriter& text, size_t i);
  void write_store(TextWriter& text, const NestInstruction& in) const;
  void write_handed_on(TextWriter& text, const NestInstruction& in, const std::string& value) const;
  void write_scalar(TextWriter& text, size_t i);
  void write_reduce(TextWriter& text, const NestInstruction& in) const;
  std::string converted(const std::string& value, DType from, DType to) const;
  void define(TextWriter& text, size_t i, std::string_view name, const std::string& value);
  void find_reductions();

  const NestProgram& program_;
  const std::vector<Parameter>& parameters_;
  const SumText sum_;
  const std::vector<Level> levels_;
  Names names_;
  std::vector<Reduction> reductions_;
  std::vector<HandedOn> handed_on_;
  std::vector<std::string> values_;            ///< names of the instructions' values
  std::map<size_t, LoadedRegisters> ahead_;    ///< by load: what is loaded before it is used
  std::set<size_t> given_;                     ///< those of them that are the caller's
  std::map<size_t, std::string> held_;         ///< by load: registers that hold a store's value
  std::map<size_t, std::string> kept_values_;  ///< by instruction
  std::map<size_t, std::string> numbers_;      ///< by access: the register of a number of a row
  std::map<size_t, std::string> kept_;         ///< by store: registers that keep its value
  std::set<size_t> not_stored_;                ///< stores that memory does without
  std::set<size_t> pairs_;                     ///< accesses of two columns
  std::set<size_t> for_all_rows_;              ///< loads of share_rows()
  std::string when_;
  bool zeros_elsewhere_ = false, stores_round_ = false;
};

}  // namespace graphc::core::cuda
