// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graphc::commands {
namespace {

/// An element as people read it; all digits of an i64.
std::string element_text(const Literal& value, int64_t index) {
  if (value.dtype() == DType::i64) return fmt::format("{}", value.data<int64_t>()[size_t(index)]);
  const double element = value.element(index);
  return std::isnan(element) ? "nan" : fmt::format("{}", element);
}

std::string sentence(const Literal& found, const Literal& wanted, int64_t index) {
  return fmt::format("element {} is {}: the evaluator has {}", index, element_text(found, index),
                     element_text(wanted, index));
}

bool same_element(const Literal& a, const Literal& b, int64_t index) {
  const auto size = size_t(size_of(a.dtype()));
  return std::memcmp(a.bytes().data() + size_t(index) * size,
                     b.bytes().data() + size_t(index) * size, size) == 0;
}

Comparison compare_exactly(const Literal& found, const Literal& wanted,
                           std::span<const Literal> forms) {
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    if (same_element(found, wanted, i)) continue;
    const bool decided = std::ranges::all_of(
        forms, [&](const Literal& form) { return same_element(form, wanted, i); });
    if (decided) return {.largest = 1, .difference = sentence(found, wanted, i)};
  }
  return {};
}

}  // namespace

double magnitude(const Literal& value) {
  double largest = 0;
  for (int64_t i = 0; i < value.elements(); ++i) {
    const double element = std::abs(value.element(i));
    if (std::isfinite(element)) largest = std::max(largest, element);
  }
  return largest;
}

double distance(const Literal& a, const Literal& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double apart = std::abs(a.element(i) - b.element(i));
    if (std::isfinite(apart)) largest = std::max(largest, apart);
  }
  return largest;
}

Comparison compare(const Literal& found, const Literal& wanted, double tolerance,
                   std::span<const Literal> forms) {
  if (!is_floating(wanted.dtype())) return compare_exactly(found, wanted, forms);
  const double size = magnitude(wanted);
  double allowed = tolerance * size;
  for (const Literal& form : forms) allowed += kConditioning * distance(form, wanted);
  Comparison result;
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const double a = found.element(i), b = wanted.element(i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    const double apart = std::abs(a - b);
    if (!(apart <= allowed) || std::isinf(b)) {
      result.difference = sentence(found, wanted, i);
      return result;
    }
    result.largest = std::max(result.largest, size > 0 ? apart / size : apart);
  }
  return result;
}

}  // namespace graphc::commands
