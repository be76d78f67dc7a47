// SPDX-License-Identifier: Apache-2.0
// A number as written, before it takes the type of the values it is combined with.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "ir/attribute.h"

namespace graphc::core {

/// A number of the program: a 64-bit integer or a double. A bool is not a number.
///
/// It takes the type of the values it is combined with. With floating-point values it rounds to
/// their type, once, like a C++ literal; a finite number that would round to infinity is an error.
/// With integers their type must be able to represent it: 300 is not a u8, 1.5 is not an i32.
class Numeral {
 public:
  template <typename T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  Numeral(T number) {
    if constexpr (std::is_floating_point_v<T>) {
      number_ = double(number);
    } else if (std::in_range<int64_t>(integer_of(number))) {
      number_ = int64_t(number);
    } else {
      number_ = double(number);  // at least 2^63: no integer type can represent it
    }
  }

  bool is_integer() const { return std::holds_alternative<int64_t>(number_); }
  /// As a double; rounds integers beyond 2^53.
  double as_double() const {
    return is_integer() ? double(std::get<int64_t>(number_)) : std::get<double>(number_);
  }
  /// As an integer; truncates a double, 0 if int64 cannot represent it.
  int64_t as_integer() const;
  /// The attribute of a constant of `dtype` with this number: a float for floating-point types, an
  /// integer for integer types if the number is whole. It may be out of range; the op that gets it
  /// reports that.
  Attribute as_attribute(DType dtype) const;
  /// The number in an attribute, which must be an integer, a float or a bool.
  static Numeral of(const Attribute& attribute);

 private:
  /// Characters are integers that std::in_range rejects.
  template <typename T>
  static auto integer_of(T number) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<long long>(number);
    else
      return static_cast<unsigned long long>(number);
  }

  std::variant<int64_t, double> number_;
};

/// Whether `dtype` can represent the number: integers exactly, floats rounded, but finite if the
/// number is. Only floating-point types have infinity and NaN.
bool holds(DType dtype, Numeral number);
/// Throws ErrorKind::input, "WHO: 300 is not a number of u8", unless `dtype` can represent the
/// number, or every number of a list.
void check_held(std::string_view who, DType dtype, const Attribute& number);

}  // namespace graphc::core
