// SPDX-License-Identifier: Apache-2.0
// The part of ir/called.h that ir/error.cpp needs, without a dependence on ops.
#include "ir/called.h"

namespace graphc::core {

Where& Called::line() {
  static thread_local Where current;
  return current;
}

bool is_of_the_library(Where where) {
  return where && std::string_view(where.file).find("/include/c++/") != std::string_view::npos;
}

}  // namespace graphc::core
