// SPDX-License-Identifier: Apache-2.0
// The body of a nest for the elements of a thread (row_values.h).
#pragma once

#include <string>
#include <vector>

#include "codegen/targets/cuda/rows/row_text.h"

namespace graphc::core::cuda {

/// Writes one nest of a row. Its operands are bound to variables first; those of its own get names
/// that `names` has not given yet.
class RowBody {
 public:
  RowBody(const Plan& plan, const RowNest& nest, RowText& rows, Names& names);

  /// A value: the operand is the variable `name`, which threads have as `spread`.
  void bind(size_t operand, std::string name, Spread spread);
  /// Where such an operand is stored in shares that end whole (row_division.h): also variables for
  /// the share without what is whole, and for that.
  void bind_apart(size_t operand, std::string share, std::string whole);
  /// A literal, or the first number of an index.
  void bind_number(size_t operand, std::string name);

  /// Of rows that several blocks divide: which operands are shares, and whether the nest's sums go
  /// over the divided axis.
  void set_shares(const std::vector<bool>& operands, bool sums_axis);

  /// The loops over the thread's elements, and the meetings of threads for its sums.
  void write(TextWriter& text);

 private:
  struct Bound {
    std::string name;
    Spread spread = Spread::number;
    std::string share, whole;
  };

  bool is_sum(size_t operand) const;
  std::string loaded(const NestInstruction& in) const;
  std::string index_of(size_t operand) const;
  std::string converted(const std::string& value, DType from, DType to) const;
  DType sum_type(size_t operand) const;
  std::string join(size_t operand, const std::string& x, const std::string& y) const;
  void write_instruction(TextWriter& text, size_t i);
  /// "fmaf(x, y, addend)" for a product in one rounding with what is added to it.
  std::string fused(int product, const std::string& addend, bool negated = false) const;
  std::string added(size_t i) const;
  std::string value_of(int i) const;
  void store_apart(TextWriter& text, const NestInstruction& in) const;
  void finish_sum(TextWriter& text, size_t operand);

  const NestProgram& program_;
  const RowNest& nest_;
  RowText& rows_;
  Names& names_;
  std::vector<Bound> bound_;
  std::vector<std::string> sums_;    ///< by operand
  std::vector<std::string> values_;  ///< by instruction
  std::vector<bool> shares_;         ///< by instruction: whether it makes a share
  std::vector<int> products_;        ///< by instruction: contracted_products()
};

}  // namespace graphc::core::cuda
