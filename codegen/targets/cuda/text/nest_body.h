// SPDX-License-Identifier: Apache-2.0
// The body of a nest as CUDA text, for one element.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/nest/levels.h"
#include "codegen/targets/cuda/text/nest_parameters.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// A sum or a maximum that a nest forms, and the variable it is formed in.
struct Reduction {
  int operand = 0;
  int part = 0;  ///< row by row all parts are one
  DType dtype = DType::f32;
  bool maximum = false;
  std::string name;

  /// What it is of nothing.
  std::string identity() const;
  std::string join(const std::string& x, const std::string& y) const;
};

/// Writes the instructions of a program. In scope are the parameters, `row` and `column`, and
/// `outer_0`, ... for the axes around the rows.
class NestBody {
 public:
  /// The text of the sum that a product has for a part.
  using SumText = std::function<std::string(int product, int part)>;

  NestBody(const NestProgram& program, const std::vector<Parameter>& parameters, SumText sum = {});

  /// From now on these stores go into the shared memory of a cluster's blocks too.
  void hand_on(std::vector<HandedOn> stores) { handed_on_ = std::move(stores); }

  const NestProgram& program() const { return program_; }
  const std::vector<Reduction>& reductions() const { return reductions_; }
  /// A name that nothing else has.
  std::string make_name(std::string_view wanted) { return names_.make(wanted); }
  /// What a parameter is called; empty if there is none.
  std::string name_of(ParameterKind kind, int index, int axis = 0) const;

  /// The instructions of a level. What they load is loaded only where `when` holds: a thread that
  /// has nothing to do must not read what another one writes in its place.
  void write(TextWriter& text, Level level, const std::string& when = {});
  /// How many loads each element has.
  size_t element_loads() const { return loads_of_elements().size(); }
  /// From now on what elements load is in registers, for so many rows and columns of a thread.
  void declare_ahead(TextWriter& text, int rows, int columns);
  /// Loads it, of `at_row` and `at_column`.
  void load_ahead(TextWriter& text) const;
  /// Writes what a reduction came to.
  void write_result(TextWriter& text, const Reduction& reduction, const std::string& value) const;

  /// The terms of an index, joined: "row * x_row + column"; "0" of none.
  static std::string sum_of(const std::vector<std::string>& terms);
  /// What the axes around the rows add to the index of an operand or of a left operand.
  std::vector<std::string> outer_terms(ParameterKind kind, int index) const;

 private:
  std::vector<size_t> loads_of_elements() const;
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
  std::vector<std::string> values_;      ///< of each instruction, the name
  std::map<size_t, std::string> ahead_;  ///< of loads, the registers they are in before
  std::string when_;
};

}  // namespace graphc::core::cuda
