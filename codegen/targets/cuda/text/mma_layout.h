// SPDX-License-Identifier: Apache-2.0
// The instruction of the tensor cores, mma.sync, and which sums of a tile each lane of a warp has.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "codegen/nest/program.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// An instruction of the tensor cores, mma.sync, and how its factors are made from f32.
struct MmaForm {
  std::string_view name;     ///< specific part of the instruction's name
  int terms = 8;             ///< per instruction
  std::string_view rounded;  ///< the function that rounds factors into a register
};
MmaForm mma_form(Factors factors);

/// The smallest tile that tensor cores multiply.
inline constexpr int kMmaRows = 16, kMmaColumns = 8;
/// Sums of a thread when the tile has that size, four of each part: more would spill where two
/// blocks share a multiprocessor.
inline constexpr int kMostMmaSums = 64;
inline constexpr int kMmaWarps = 8;

/// The sums of a lane: `rows` x `columns` of its warp's part of the tile, two rows and two columns
/// of every 16 x 8 elements (PTX ISA, "Matrix Fragments for mma.m16n8k16"). The text declares
/// `thread`.
struct MmaLayout {
  int rows = 2, columns = 2;
  int warp_columns = 1;  ///< warps beside each other

  /// Declares `lane`, `warp`, `group`, `in_group`, and the first row and column of the warp.
  /// `warps` multiply a piece, or all do.
  void declare(TextWriter& text, int warps = kMmaWarps) const;
  /// Those of a sum, with `at_row` and `at_column` in scope, and the first column.
  static std::string row() { return "warp_row + at_row * 8 + group"; }
  static std::string column() {
    return "warp_column + at_column / 2 * 8 + in_group * 2 + at_column % 2";
  }
  static std::string even_column() { return "warp_column + at_column / 2 * 8 + in_group * 2"; }
  static std::string first_column() { return "warp_column + in_group * 2"; }
};

/// Adds a product of 16 rows and 8 columns to sums[PART][at_row...][COLUMN...], given the name of
/// an array of the left factors and two registers of the right ones.
void write_mma(TextWriter& text, const MmaForm& form, std::string_view left,
               const std::array<std::string, 2>& right, std::string_view part,
               std::string_view column);

}  // namespace graphc::core::cuda
