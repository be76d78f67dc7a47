// SPDX-License-Identifier: Apache-2.0
#include "ir/called.h"

#include "ir/op.h"

namespace graphc::core {
namespace {

thread_local std::string_view current_function;

}  // namespace

Called::Called(std::string_view function, Where where)
    : outermost_(!line() && current_function.empty()) {
  if (!outermost_) return;
  line() = where;
  current_function = function;
}

Called::~Called() {
  if (!outermost_) return;
  line() = {};
  current_function = {};
}

Error Called::in_its_words(const Error& error) {
  if (current_function.empty() || error.kind() != ErrorKind::input) return error;
  Error told(error.kind(), error.where(), in_words_of(current_function, error.message()));
  for (const std::string& note : error.notes()) told.note(note);
  return told;
}

std::string in_words_of(std::string_view who, std::string_view message) {
  const std::string_view first = message.substr(0, message.find(": "));
  const bool known = first.size() < message.size() &&
                     (find_op(first) != nullptr || first == who || first == current_function);
  return fmt::format("{}: {}", who, known ? message.substr(first.size() + 2) : message);
}

}  // namespace graphc::core
