// SPDX-License-Identifier: Apache-2.0
#include "ir/kernel_family.h"

namespace graphc::core {

std::string_view name_of(Family family) {
  switch (family) {
    case Family::map:
      return "map";
    case Family::gemm:
      return "gemm";
    case Family::recurrent:
      return "recurrent";
    case Family::table:
      return "table";
    case Family::reduction:
      return "reduction";
    case Family::inner_reduction:
      return "inner_reduction";
    case Family::concat:
      return "concat";
    case Family::batched_gemm:
      return "batched_gemm";
  }
  return "";
}

}  // namespace graphc::core
