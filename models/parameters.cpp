// SPDX-License-Identifier: Apache-2.0
#include "models/parameters.h"

#include <algorithm>
#include <charconv>

#include "ir/error.h"
#include "ir/spelling.h"

namespace graphc::core {
namespace {

template <typename... Args>
Error usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorKind::usage, {}, fmt::format(format, std::forward<Args>(args)...));
}

template <typename Number>
bool parse_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

}  // namespace

Parameters::Parameters(std::string_view model, std::span<const ParameterRecord> records,
                       const std::vector<std::string>& assignments)
    : model_(model), records_(records) {
  std::vector<std::string> names;
  for (const ParameterRecord& record : records) {
    names.emplace_back(record.name);
    values_.emplace(record.name, Value{std::string(record.otherwise)});
  }
  for (const std::string& assignment : assignments) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      throw usage_error("{}: a parameter is written name=value: found '{}'", model, assignment);
    }
    const std::string name = assignment.substr(0, equals);
    const auto found = values_.find(name);
    if (found == values_.end()) {
      const std::string near = did_you_mean(name, names);
      throw usage_error("{}: unknown parameter '{}'{}{}", model, name, near,
                        near.empty() ? fmt::format(": it has {}", fmt::join(names, ", ")) : "");
    }
    if (found->second.given) throw usage_error("{}: parameter '{}' is given twice", model, name);
    found->second = {assignment.substr(equals + 1), true};
  }
}

void Parameters::set_default(std::string_view name, std::string value) {
  Value& parameter = values_.find(name)->second;
  if (!parameter.given) parameter.text = std::move(value);
}

std::string Parameters::text(std::string_view name) const {
  const auto found = values_.find(name);
  GRAPHC_CHECK(found != values_.end(), "model '{}' has no parameter '{}'", model_, name);
  return found->second.text;
}

bool Parameters::is_given(std::string_view name) const {
  const auto record = std::ranges::find(records_, name, &ParameterRecord::name);
  return record != records_.end() && text(name) != record->otherwise;
}

int64_t Parameters::integer(std::string_view name, int64_t least, int64_t most) const {
  const std::string value = text(name);
  int64_t number = 0;
  if (parse_number(value, number) && number >= least && number <= most) return number;
  // Name the upper bound only to users who exceeded it.
  const bool above = value.find_first_not_of("0123456789") == value.npos && !value.empty() &&
                     !(parse_number(value, number) && number < least);
  throw usage_error("{}: parameter '{}' is a whole number from {}{}: found '{}'", model_, name,
                    least, above ? fmt::format(" to {}", most) : "", value);
}

int64_t Parameters::layers() const { return integer("layers", 1, kMostLayers); }

double Parameters::number(std::string_view name) const {
  const std::string value = text(name);
  double number = 0;
  if (parse_number(value, number) && number - number == 0) return number;
  throw usage_error("{}: parameter '{}' is a number: found '{}'", model_, name, value);
}

double Parameters::positive(std::string_view name, double below) const {
  const double value = number(name);
  if (value > 0 && value < below) return value;
  throw usage_error("{}: parameter '{}' is above 0{}: found '{}'", model_, name,
                    below < HUGE_VAL ? fmt::format(" and below {}", below) : "", text(name));
}

double Parameters::keep() const {
  const double value = number("keep");
  if (value > 0 && value <= 1) return value;
  throw usage_error("{}: parameter 'keep' is in (0, 1]: found '{}'", model_, text("keep"));
}

bool Parameters::flag(std::string_view name) const {
  const std::string value = text(name);
  if (value == "true") return true;
  if (value == "false") return false;
  throw usage_error("{}: parameter '{}' is true or false: found '{}'", model_, name, value);
}

size_t Parameters::choice(std::string_view name, std::span<const std::string_view> choices) const {
  const std::string value = text(name);
  std::vector<std::string> names;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == value) return i;
    names.emplace_back(choices[i]);
  }
  const std::string near = did_you_mean(value, names);
  throw usage_error("{}: {} is one of {}: found '{}'{}", model_, name, fmt::join(names, ", "),
                    value, near);
}

std::vector<std::pair<std::string, std::string>> Parameters::entries() const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const ParameterRecord& record : records_)
    result.emplace_back(record.name, text(record.name));
  return result;
}

std::string Parameters::to_text() const {
  std::string result;
  for (const auto& [name, value] : entries())
    result += fmt::format("{}{}={}", result.empty() ? "" : " ", name, value);
  return result;
}

}  // namespace graphc::core
