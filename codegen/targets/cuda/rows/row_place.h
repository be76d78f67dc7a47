// SPDX-License-Identifier: Apache-2.0
// The memory of a value of a row (row_values.h), and how the threads of a block have the value.
#pragma once

#include <cstdint>

#include "codegen/targets/cuda/loops/loop_barriers.h"

namespace graphc::core::cuda {

/// How the threads of a block have a value: one number, in all threads; a number for each row of
/// the matrix, or for each column, in all threads that have elements of it; or its elements.
enum class Spread : uint8_t { number, by_row, by_column, matrix };

/// Memory that a nest accesses for one row of the loop: where it begins in an iteration, and how
/// it moves, in bytes: with the row of the loop, and along the rows and columns of the matrix.
struct RowPlace {
  MovingPlace place;
  int64_t of_loop_row = 0, of_row = 0, of_column = 0;
  DType dtype = DType::f32;

  Spread spread() const;
  /// Whether all steps write it to one place, or to two in turn: only the last one's remains.
  bool is_of_last() const { return place.step == 0; }
  /// The same memory of a vector, for threads that have it as `spread`.
  RowPlace spread_as(Spread spread) const;
  /// Whether it is the same memory, however threads have it; what differs in the first step alone
  /// is not compared.
  bool operator==(const RowPlace& other) const;
};

}  // namespace graphc::core::cuda
