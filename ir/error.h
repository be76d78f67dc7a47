// SPDX-License-Identifier: Apache-2.0
// Errors: who is at fault, where in the user's program, what was found and what was wanted.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core {

/// A line of the user's program: a C++ call site or a line of a `.graph` file. Trivially copyable.
/// `file` points to storage that lives as long as the process.
struct Where {
  const char* file = nullptr;
  int line = 0;
  /// 1-based; 0 if unknown (C++ call sites). For the derivative of a line it is ~column, which
  /// keeps the struct at two words: every node has one.
  int column = 0;

  /// The caller's line, when used as a default argument.
  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line, 0};
  }
  /// The same line, marked as its derivative instead of the computation itself.
  constexpr Where derivative() const { return {file, line, backward() ? column : ~column}; }
  constexpr bool backward() const { return column < 0; }
  explicit operator bool() const { return file != nullptr; }
};

/// Keeps a copy of `name` for the life of the process, so that a Where can point at it.
const char* intern_file_name(std::string_view name);

/// The kind of an error. The value is the exit code of the command-line tools.
enum class ErrorKind {
  internal = 1,  ///< a defect of graphc itself
  usage = 2,     ///< the command line
  input = 3,     ///< the user's program, or a missing, unreadable or malformed input
  check = 4,     ///< a failed check: results differ, a loss is not finite
  resource = 5,  ///< disk, memory, device, or permission to write
};

/// The only exception of graphc. `what()` is `<file>:<line>: error: <message>` followed by the
/// notes. Message and notes pass through printable_message() of ir/utf8.h: quoted names can neither
/// control a terminal nor flood it.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, Where where, std::string message);

  /// Adds a line `note: ...` below the message; a note states a fact, never a guess.
  Error& note(std::string text);
  /// Sets the position if the error has none.
  Error& at(Where where);

  ErrorKind kind() const { return kind_; }
  Where where() const { return where_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& notes() const { return notes_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose();

  ErrorKind kind_;
  Where where_;
  std::string message_;
  std::vector<std::string> notes_;
  std::string text_;
};

/// An error in the user's input: the program, a graph, a file.
template <typename... Args>
Error input_error(Where where, fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::input, where, fmt::format(format, std::forward<Args>(args)...));
}

/// An error of the machine: disk, memory, device, permission.
template <typename... Args>
Error resource_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::resource, {}, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an internal error naming the failed condition: a defect of graphc, never the user's
/// fault.
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& message);

}  // namespace graphc::core

/// Checked in every build type; a failure is a defect of graphc and throws ErrorKind::internal.
#define GRAPHC_CHECK(condition, ...)                                                            \
  do {                                                                                          \
    if (!(condition))                                                                           \
      ::graphc::core::check_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)
