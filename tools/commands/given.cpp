// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/given.h"

#include <algorithm>
#include <charconv>

#include "frontend/data.h"
#include "ir/numeral.h"
#include "ir/spelling.h"
#include "runtime/files/files.h"
#include "runtime/files/npy.h"
#include "tools/commands/commands.h"

namespace graphc::core::commands {
namespace {

/// Every element is the number that is written.
Literal read_number(const std::string& name, const std::string& text, const Type& type) {
  const char* end = text.data() + text.size();
  if (type.dtype == DType::i64) {  // which an f64 would round
    int64_t whole = 0;
    if (const auto [rest, error] = std::from_chars(text.data(), end, whole);
        error == std::errc() && rest == end) {
      Literal value(type);
      std::ranges::fill(value.mutable_data<int64_t>(), whole);
      return value;
    }
  }
  double number = 0;
  if (const auto [rest, error] = std::from_chars(text.data(), end, number);
      error != std::errc() || rest != end)
    throw usage_error("--input: '{}' is @file.npy or a number: found '{}'", name, text);
  if (!holds(type.dtype, number)) {
    throw usage_error("--input: '{}' is {}: found '{}', which is no {}", name, to_string(type),
                      text, name_of(type.dtype));
  }
  return Literal::filled(type, number);
}

}  // namespace

Given assignments(const std::vector<std::string>& texts, std::string_view option) {
  Given result;
  for (const std::string& text : texts) {
    const auto [name, value] = assignment(text, option);
    if (!result.emplace(name, value).second)
      throw usage_error("{}: '{}' is given twice", option, name);
  }
  return result;
}

Literal read_value(const std::string& name, const std::string& text, const Type& type) {
  if (text.starts_with("@")) {
    const std::string path = text.substr(1);
    const Literal value = path == "-" ? parse_npy(read_stdin(), "<stdin>") : read_npy(path);
    if (value.shape() == type.shape && Data::fits(value.dtype(), type.dtype, true)) {
      try {
        return value.converted(type.dtype);
      } catch (const Error& error) {
        throw input_error({}, "{}: '{}' is {}: {}", path, name, to_string(type), error.message());
      }
    }
    throw input_error({}, "{}: '{}' is {}: found {}", path, name, to_string(type),
                      to_string(value.type()));
  }
  return read_number(name, text, type);
}

void check_given(const Given& given, const std::vector<GraphPtr>& graphs) {
  for (const auto& [name, text] : given) {
    std::vector<std::string> names;
    for (const GraphPtr& graph : graphs) {
      for (Value input : graph->inputs()) names.push_back(input.name());
      for (Value state : graph->states()) names.push_back(state.name());
    }
    if (std::ranges::find(names, name) != names.end()) continue;
    throw usage_error("--input: there is no input or state '{}'{}", name,
                      did_you_mean(name, names));
  }
}

}  // namespace graphc::core::commands
