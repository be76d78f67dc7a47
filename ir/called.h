// SPDX-License-Identifier: Apache-2.0
// Whom an error is told: while a function that users call works, what goes wrong in it is at the
// user's line and in the function's words, not at a line or in the words of what it is made of.
#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"

namespace graphc::core {

/// A function of the user's vocabulary while it works. Of several on a thread the outermost counts,
/// and none does inside of a WhereScope (ir/build.h): what a user called is what a user knows.
class Called {
 public:
  /// The name lives as long as the process.
  Called(std::string_view function, Where where);
  ~Called();
  Called(const Called&) = delete;

  /// The line that nodes and errors get on this thread instead of their own; empty when there is
  /// none.
  static Where& line();
  /// line(), or `own` when there is none.
  static Where place(Where own) { return line() ? line() : own; }
  /// The error in the words of the function that was called: "LayerNorm: shapes do not broadcast",
  /// not "mul: ...".
  static Error in_its_words(const Error& error);

 private:
  bool outermost_;
};

/// Whether the place is a line of the C++ library: what a defaulted `Where` is when that calls, as
/// vector::emplace_back() does.
bool is_of_the_library(Where where);

/// `message` as one of `who`: the name of an op that it begins with goes.
std::string in_words_of(std::string_view who, std::string_view message);

}  // namespace graphc::core
