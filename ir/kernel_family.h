// SPDX-License-Identifier: Apache-2.0
// What a kernel is, and so what lowers it: the values of a kernel node's attribute `family`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace graphc::core {

enum class Family : uint8_t {
  map,              ///< elementwise work and sums along rows, for every row
  gemm,             ///< a product, with an elementwise epilogue
  recurrent,        ///< a whole loop, computed independently for each row
  table,            ///< rows of a table by index
  reduction,        ///< sums or a maximum over the rows of a matrix, of elementwise work
  inner_reduction,  ///< elementwise work on matrices, some of it reduced over the rows of each
  concat,           ///< operands put one after another, along any axis
  batched_gemm,     ///< a product of matrices for each index of the leading axes
};

inline constexpr std::array kFamilies{Family::map,    Family::gemm,        Family::recurrent,
                                      Family::table,  Family::reduction,   Family::inner_reduction,
                                      Family::concat, Family::batched_gemm};

/// The name of the family in text: "map".
std::string_view name_of(Family family);

}  // namespace graphc::core
