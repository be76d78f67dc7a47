// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_place.h"

#include <utility>

namespace graphc::core::cuda {
namespace {

bool is_vector(Spread spread) { return spread == Spread::by_row || spread == Spread::by_column; }

}  // namespace

Spread RowPlace::spread() const {
  if (of_row != 0) return of_column != 0 ? Spread::matrix : Spread::by_row;
  return of_column != 0 ? Spread::by_column : Spread::number;
}

RowPlace RowPlace::spread_as(Spread wanted) const {
  RowPlace other = *this;
  if (is_vector(wanted) && is_vector(spread()) && wanted != spread())
    std::swap(other.of_row, other.of_column);
  return other;
}

bool RowPlace::operator==(const RowPlace& other) const {
  const Spread own = spread();
  const RowPlace as_own = other.spread_as(own);
  return place.base.buffer == other.place.base.buffer &&
         place.base.offset == other.place.base.offset && place.step == other.place.step &&
         place.slot == other.place.slot && dtype == other.dtype &&
         of_loop_row == other.of_loop_row && of_row == as_own.of_row &&
         of_column == as_own.of_column && own == as_own.spread();
}

}  // namespace graphc::core::cuda
