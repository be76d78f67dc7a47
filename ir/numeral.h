// SPDX-License-Identifier: Apache-2.0
// A number as it was written, before it has the type of the values beside it.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "ir/attribute.h"

namespace graphc::core {

/// A number of the program: an integer with all its 64 bits, or a double. A bool is none.
///
/// It becomes a number of the values beside it. Beside floating-point values it rounds to their
/// type, once, as a literal of C++ does; a finite number that would round to infinity is an error.
/// Beside integers it must be one that their type has: 300 is no number of u8, 1.5 none of i32.
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
      number_ = double(number);  // above 2^63: no type of integers has it
    }
  }

  bool is_integer() const { return std::holds_alternative<int64_t>(number_); }
  /// As a double: an integer beyond 2^53 is rounded.
  double as_double() const {
    return is_integer() ? double(std::get<int64_t>(number_)) : std::get<double>(number_);
  }
  /// As an integer: a double without its fraction; 0 when int64 cannot hold it.
  int64_t as_integer() const;
  /// The attribute of a constant of `dtype` that is this number: a float beside floats, an integer
  /// beside integers when the number is whole. It may be one that the type does not have; the op
  /// that gets it says so.
  Attribute as_attribute(DType dtype) const;
  /// The number of an attribute of the program, which must be an integer, a float or a bool.
  static Numeral of(const Attribute& attribute);

 private:
  /// Characters are integers, but std::in_range does not take them.
  template <typename T>
  static auto integer_of(T number) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<long long>(number);
    else
      return static_cast<unsigned long long>(number);
  }

  std::variant<int64_t, double> number_;
};

/// Whether values of `dtype` can be the number: integers exactly, floats rounded but finite when it
/// is. An infinity and a NaN are floats.
bool holds(DType dtype, Numeral number);
/// Throws ErrorKind::input, "WHO: 300 is not a number of u8", unless `dtype` holds the number, or
/// every number of a list.
void check_held(std::string_view who, DType dtype, const Attribute& number);

}  // namespace graphc::core
