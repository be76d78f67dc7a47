// SPDX-License-Identifier: Apache-2.0
// What a kernel is: the values of a kernel node's attribute `family`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace graphc::core {

enum class Family : uint8_t {
  map,        ///< elementwise work and sums along rows, for every row
  gemm,       ///< a product, with an elementwise epilogue
  recurrent,  ///< a whole loop, computed independently for each row
  table,      ///< rows of a table by index
};

inline constexpr std::array kFamilies{Family::map, Family::gemm, Family::recurrent, Family::table};

/// The name of the family in text: "map".
std::string_view name_of(Family family);

}  // namespace graphc::core
