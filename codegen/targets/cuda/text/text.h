// SPDX-License-Identifier: Apache-2.0
// Writing CUDA text: indented lines, and names and types in CUDA's spelling.
//
// The text includes no header, which would cost NVRTC half a second, and uses a small subset of the
// language: functions, scalars, pointers, arrays and loops. tests/cuda/emulator/README.md defines
// it; the emulator rejects anything else before a GPU sees it.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "ir/type.h"

namespace graphc::core::cuda {

/// The type of an element in memory: "float", "unsigned char" for bool, "unsigned short" for bf16.
std::string_view stored_type_text(DType dtype);
/// The type used in computation: bool for bool; for bf16 a float that is rounded after each
/// operation.
std::string_view register_type_text(DType dtype);

/// A name that is safe in a comment: characters that would end the comment, or join the next line
/// to it, are replaced.
std::string in_comment(std::string_view name);

/// Lines of text, indented by the scopes around them.
class TextWriter {
 public:
  explicit TextWriter(int indent = 0) : indent_(indent) {}

  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_.append(size_t(indent_) * 2, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }

  /// A line that ends in `{`; the following lines are indented by one more level.
  template <typename... Arguments>
  void open(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    line("{} {{", fmt::format(format, std::forward<Arguments>(arguments)...));
    ++indent_;
  }
  /// The same with nothing before the brace.
  void open_block() {
    line("{{");
    ++indent_;
  }
  /// Lines that are already indented by one level.
  void lines(std::string_view text);
  void close() {
    --indent_;
    line("}}");
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int indent_;
};

/// Names in one function: maps a value's name to a unique identifier.
class Names {
 public:
  /// `wanted` with characters that are invalid in identifiers replaced, and a number appended if it
  /// is taken.
  std::string make(std::string_view wanted);

 private:
  std::map<std::string, int> taken_;
};

}  // namespace graphc::core::cuda
