// SPDX-License-Identifier: Apache-2.0
// The lines that errors name: of ir/called.h what ir/error.cpp needs, and nothing of ops.
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
