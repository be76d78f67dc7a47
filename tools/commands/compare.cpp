// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace graphc::core::commands {
namespace {

/// An element for people; with all digits of an i64.
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

double smallest_normal(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::min()
                             : double(std::numeric_limits<float>::min());
}

/// The elements that differ between forms: rounding decides them.
std::vector<bool> undecided(const Literal& wanted, std::span<const Literal> forms) {
  std::vector<bool> elements(size_t(wanted.elements()), false);
  for (const Literal& form : forms) {
    for (int64_t i = 0; i < wanted.elements(); ++i)
      if (!same_element(form, wanted, i)) elements[size_t(i)] = true;
  }
  return elements;
}

Comparison compare_exactly(const Literal& found, const Literal& wanted,
                           std::span<const Literal> forms) {
  const std::vector<bool> open = undecided(wanted, forms);
  // Another rounding decides other elements: few if few are undecided, and never many.
  const double excused = std::min(kConditioning * double(std::ranges::count(open, true)),
                                  kLargestExcuse * double(wanted.elements()));
  double differing = 0;
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    if (same_element(found, wanted, i) || open[size_t(i)]) continue;
    if (++differing > excused) return {.largest = 1, .difference = sentence(found, wanted, i)};
  }
  return {};
}

/// Whether the number overflows the type, according to the form in f64: then the order of a sum
/// decides whether it is either infinity or NaN.
bool overflows(const Literal& exact, int64_t index, DType dtype) {
  if (dtype == DType::f64) return false;
  const double element = std::abs(exact.element(index));
  return std::isfinite(element) && element > double(std::numeric_limits<float>::max());
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
                   std::span<const Literal> forms, double terms) {
  if (!is_floating(wanted.dtype())) return compare_exactly(found, wanted, forms);
  const double size = magnitude(wanted);
  double allowed = tolerance * size;
  for (const Literal& form : forms) allowed += kConditioning * distance(form, wanted);
  if (allowed > 0) allowed += terms * smallest_normal(wanted.dtype());
  Comparison result;
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    const double a = found.element(i), b = wanted.element(i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    if (!std::isfinite(a) && !forms.empty() && overflows(forms[0], i, wanted.dtype())) continue;
    const double apart = std::abs(a - b);
    if (!(apart <= allowed) || std::isinf(b)) {
      result.difference = sentence(found, wanted, i);
      return result;
    }
    result.largest = std::max(result.largest, size > 0 ? apart / size : apart);
  }
  return result;
}

}  // namespace graphc::core::commands
