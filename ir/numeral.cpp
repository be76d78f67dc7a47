// SPDX-License-Identifier: Apache-2.0
#include "ir/numeral.h"

#include <cmath>
#include <utility>

#include "ir/stored.h"

namespace graphc::core {
namespace {

/// Whether the number is an integer in the range of int64.
bool is_whole(double number) {
  return number >= -0x1p63 && number < 0x1p63 && std::trunc(number) == number;
}

}  // namespace

int64_t Numeral::as_integer() const {
  if (is_integer()) return std::get<int64_t>(number_);
  const double whole = std::trunc(std::get<double>(number_));
  return is_whole(whole) ? int64_t(whole) : 0;
}

Attribute Numeral::as_attribute(DType dtype) const {
  if (graphc::core::is_integer(dtype) && (is_integer() || is_whole(as_double())))
    return as_integer();
  return as_double();
}

Numeral Numeral::of(const Attribute& attribute) {
  if (const auto* flag = std::get_if<bool>(&attribute)) return int64_t(*flag);
  if (const auto* number = std::get_if<int64_t>(&attribute)) return *number;
  if (const auto* number = std::get_if<double>(&attribute)) return *number;
  throw input_error({}, "a number is wanted: found {}", to_string(attribute));
}

bool holds(DType dtype, Numeral number) {
  return visit_dtype(dtype, [&]<DType wanted>() {
    const double rounded = number.as_double();
    if constexpr (wanted == DType::boolean) {
      return rounded == 0 || rounded == 1;
    } else if constexpr (std::is_integral_v<Stored<wanted>>) {
      return (number.is_integer() || is_whole(rounded)) &&
             std::in_range<Stored<wanted>>(number.as_integer());
    } else {
      return fits_finite<wanted>(rounded);
    }
  });
}

void check_held(std::string_view who, DType dtype, const Attribute& number) {
  const auto check = [&](Numeral one) {
    if (!holds(dtype, one)) {
      throw input_error({}, "{}: {} is not a number of {}", who,
                        one.is_integer() ? fmt::format("{}", one.as_integer())
                                         : fmt::format("{}", one.as_double()),
                        name_of(dtype));
    }
  };
  if (const auto* list = std::get_if<std::vector<int64_t>>(&number)) {
    for (int64_t one : *list) check(one);
  } else if (const auto* floats = std::get_if<std::vector<double>>(&number)) {
    for (double one : *floats) check(one);
  } else {
    check(Numeral::of(number));
  }
}

}  // namespace graphc::core
