// SPDX-License-Identifier: Apache-2.0
// Registers for numbers that are loaded before they are used. They hold what memory has: a
// conversion where the number is loaded would wait for it there, which takes as long as a product.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/type.h"

namespace graphc::core::cuda {

/// How many columns side by side an access to memory has.
enum class Columns : uint8_t { one, two };

/// The numbers of one load, for the rows and columns of a thread.
struct LoadedRegisters {
  std::string name;
  DType dtype = DType::f32;        ///< in memory
  Columns columns = Columns::one;  ///< two: f32 or bf16, for each even `at_column`
  bool by_row = true;              ///< whether rows have numbers of their own

  /// "unsigned short ahead_x[2][4]"
  std::string declaration(int rows, int row_length) const;
  /// The statement that loads the number at `element` in memory, or that and the next one, for
  /// `at_row` and `at_column`.
  std::string load(const std::string& element) const;
  /// The number for `at_row` and `at_column`, with the type that registers have for `dtype`.
  std::string value() const;

 private:
  std::string_view row() const { return by_row ? "at_row" : "0"; }
  /// Whether two numbers are in one register.
  bool has_words() const { return columns == Columns::two && dtype == DType::bf16; }
};

}  // namespace graphc::core::cuda
