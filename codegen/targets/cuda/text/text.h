// SPDX-License-Identifier: Apache-2.0
// Writing CUDA text: indented lines, and names and types in CUDA's spelling.
//
// The text includes no header, which would cost NVRTC half a second, and uses a small subset of the
// language: functions, scalars, pointers, arrays and loops. tests/cuda/emulator/README.md defines
// it; the emulator rejects anything else before a GPU sees it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>
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

/// Whether an identifier occurs in the text.
bool has_word(std::string_view text, std::string_view word);
/// Of lines that each declare one variable, "TYPE NAME = ...;", those that a text behind them
/// needs.
std::string needed_lines(std::string_view declarations, std::string_view text);

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

/// How the text of a nest names the position of its thread and block in the nest's grid, and the
/// extents of the grid: x, y and z.
class NestGrid {
 public:
  /// The nest is a launch of its own, or a kernel of several nests has variables for the grid of
  /// each: thread_x, block_x, threads_x, blocks_x and those of the other axes.
  enum class Of : uint8_t { launch, nest };
  explicit NestGrid(Of of) : is_launch_(of == Of::launch) {}

  std::string thread(char axis) const { return name("threadIdx.", "thread_", axis); }
  std::string block(char axis) const { return name("blockIdx.", "block_", axis); }
  /// Threads of a block, and blocks. The grid notes that the text reads them.
  std::string threads(char axis) {
    threads_read_.insert(axis);
    return name("blockDim.", "threads_", axis);
  }
  std::string blocks(char axis) {
    blocks_read_.insert(axis);
    return name("gridDim.", "blocks_", axis);
  }
  bool reads_threads(char axis) const { return threads_read_.contains(axis); }
  bool reads_blocks(char axis) const { return blocks_read_.contains(axis); }

 private:
  std::string name(std::string_view of_launch, std::string_view own, char axis) const {
    return fmt::format("{}{}", is_launch_ ? of_launch : own, axis);
  }

  const bool is_launch_;
  std::set<char> threads_read_, blocks_read_;
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
