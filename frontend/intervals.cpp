// SPDX-License-Identifier: Apache-2.0
#include "frontend/intervals.h"

namespace graphc::core {

bool Interval::has(double number) const {
  return (with_low ? number >= low : number > low) && (with_high ? number <= high : number < high);
}

std::string Interval::text() const {
  return fmt::format("{}{}, {}{}", with_low ? '[' : '(', low, high, with_high ? ']' : ')');
}

void expect_in(std::string_view who, std::string_view option, double number,
               const Interval& interval, Where where) {
  if (interval.has(number)) return;
  throw input_error(where, "{}: {} is in {}: found {}", who, option, interval.text(), number);
}

void expect_in(std::string_view who, std::string_view option, const Operand& number,
               const Interval& interval, Where where) {
  if (number.is_number()) expect_in(who, option, number.number().as_double(), interval, where);
}

}  // namespace graphc::core
