// SPDX-License-Identifier: Apache-2.0
#include "ir/attribute.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "ir/error.h"

namespace graphc::core {
namespace {

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += '.';
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + '"';
}

bool same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

bool same(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (auto x = std::get_if<double>(&a)) return same(*x, std::get<double>(b));
  if (auto x = std::get_if<std::vector<double>>(&a)) {
    const auto& y = std::get<std::vector<double>>(b);
    return std::equal(x->begin(), x->end(), y.begin(), y.end(),
                      [](double p, double q) { return same(p, q); });
  }
  return a == b;
}

template <typename T>
T get(const Attributes& attributes, std::string_view name, T otherwise, std::string_view wanted) {
  const Attribute* found = attributes.find(name);
  if (found == nullptr) return otherwise;
  if (const T* value = std::get_if<T>(found)) return *value;
  throw input_error({}, "attribute '{}' is {}: found {}", name, wanted, to_string(*found));
}

AttributeKinds copy_of(const AttributeKinds& kinds) {
  return std::visit([](auto value) { return AttributeKinds(std::move(value)); }, kinds);
}

}  // namespace

Attribute::Attribute(const Attribute& other) : AttributeKinds(copy_of(other)) {}

Attribute& Attribute::operator=(const Attribute& other) {
  AttributeKinds::operator=(copy_of(other));
  return *this;
}

std::string to_string(const Attribute& attribute) {
  struct Printer {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return float_text(value); }
    std::string operator()(const std::string& value) const { return quoted(value); }
    std::string operator()(DType value) const { return std::string(name_of(value)); }
    std::string operator()(const std::vector<int64_t>& value) const {
      return fmt::format("[{}]", fmt::join(value, ","));
    }
    std::string operator()(const std::vector<double>& value) const {
      if (value.empty()) return "[.]";
      std::string text = "[";
      for (size_t i = 0; i < value.size(); ++i) text += (i ? "," : "") + float_text(value[i]);
      return text + "]";
    }
  };
  return std::visit(Printer{}, attribute);
}

Attributes::Attributes(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

void Attributes::set(std::string_view name, Attribute value) {
  if (entries_ == nullptr) {
    entries_ = std::make_shared<std::vector<Entry>>();
  } else if (entries_.use_count() > 1) {
    entries_ = std::make_shared<std::vector<Entry>>(*entries_);
  }
  auto at = std::lower_bound(entries_->begin(), entries_->end(), name,
                             [](const Entry& e, std::string_view n) { return e.first < n; });
  if (at != entries_->end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_->emplace(at, std::string(name), std::move(value));
  }
}

const Attribute* Attributes::find(std::string_view name) const {
  for (const Entry& entry : entries()) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

bool Attributes::get_bool(std::string_view name, bool otherwise) const {
  return get<bool>(*this, name, otherwise, "true or false");
}
int64_t Attributes::get_int(std::string_view name, int64_t otherwise) const {
  return get<int64_t>(*this, name, otherwise, "an integer");
}
double Attributes::get_float(std::string_view name, double otherwise) const {
  const Attribute* found = find(name);
  if (found != nullptr && std::holds_alternative<int64_t>(*found))
    return double(std::get<int64_t>(*found));
  return get<double>(*this, name, otherwise, "a number");
}
std::string Attributes::get_string(std::string_view name, std::string_view otherwise) const {
  return get<std::string>(*this, name, std::string(otherwise), "a string");
}
DType Attributes::get_dtype(std::string_view name, DType otherwise) const {
  return get<DType>(*this, name, otherwise, "an element type");
}
std::vector<int64_t> Attributes::get_ints(std::string_view name,
                                          std::vector<int64_t> otherwise) const {
  return get<std::vector<int64_t>>(*this, name, std::move(otherwise), "a list of integers");
}

bool Attributes::operator==(const Attributes& other) const {
  if (entries_ == other.entries_) return true;
  return std::equal(begin(), end(), other.begin(), other.end(), [](const Entry& a, const Entry& b) {
    return a.first == b.first && same(a.second, b.second);
  });
}

}  // namespace graphc::core
