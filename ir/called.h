// SPDX-License-Identifier: Apache-2.0
// Attribution of errors: while a function called by the user runs, errors have the user's line and
// the function's name, not those of its implementation.
#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"

namespace graphc::core {

/// A user-visible function while it runs. The outermost one on the thread counts, and none inside a
/// WhereScope (ir/build.h): users know what they called.
class Called {
 public:
  /// The name must live as long as the process.
  Called(std::string_view function, Where where);
  ~Called();
  Called(const Called&) = delete;

  /// The line that nodes and errors on this thread get instead of their own; empty if there is
  /// none.
  static Where& line();
  /// line(), or `own` if it is empty.
  static Where place(Where own) { return line() ? line() : own; }
  /// The error in the words of the called function: "LayerNorm: shapes do not broadcast", not "mul:
  /// ...".
  static Error in_its_words(const Error& error);

 private:
  bool outermost_;
};

/// Whether the line is in the C++ standard library: the default `Where` of a call made by the
/// library, as in vector::emplace_back().
bool is_of_the_library(Where where);

/// `message` attributed to `who`: replaces a leading op name.
std::string in_words_of(std::string_view who, std::string_view message);

}  // namespace graphc::core
