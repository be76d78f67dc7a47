// SPDX-License-Identifier: Apache-2.0
#include "ir/error.h"

#include <mutex>
#include <set>

#include "ir/called.h"
#include "ir/utf8.h"

namespace graphc::core {
namespace {

/// Longer than any path that Linux opens.
constexpr size_t kLongestPath = 4096;

/// The line shown to the user: that of the called function, if nothing else is known.
Where told(ErrorKind kind, Where where) {
  if (kind != ErrorKind::input) return where;
  return where && !is_of_the_library(where) ? where : Called::line();
}

}  // namespace

const char* intern_file_name(std::string_view name) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> names;
  std::lock_guard lock(mutex);
  auto found = names.find(name);
  if (found == names.end()) found = names.emplace(name).first;
  return found->c_str();
}

Error::Error(ErrorKind kind, Where where, std::string message)
    : kind_(kind),
      where_(told(kind, where)),
      // Internal errors may quote code, on lines that are not indented.
      message_(kind == ErrorKind::internal ? printable_lines(message)
                                           : printable_message(message)) {
  compose();
}

Error& Error::note(std::string text) {
  notes_.push_back(printable_message(text));
  compose();
  return *this;
}

Error& Error::at(Where where) {
  if (!where_) where_ = told(kind_, where);
  compose();
  return *this;
}

void Error::compose() {
  text_.clear();
  if (where_) {
    text_ = printable(where_.file, kLongestPath);
    if (where_.line > 0) text_ += fmt::format(":{}", where_.line);
    const int column = where_.backward() ? ~where_.column : where_.column;
    if (where_.line > 0 && column > 0) text_ += fmt::format(":{}", column);
    text_ += ": ";
  }
  text_ += kind_ == ErrorKind::internal ? "internal error: " : "error: ";
  text_ += message_;
  for (const std::string& note : notes_) text_ += "\n  note: " + note;
}

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw Error(ErrorKind::internal, {}, fmt::format("{} ({})", message, condition))
      .note(fmt::format("this is a defect of graphc, found at {}:{}", file, line));
}

}  // namespace graphc::core
