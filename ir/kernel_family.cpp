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
  }
  return "";
}

}  // namespace graphc::core
