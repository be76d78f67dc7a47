// SPDX-License-Identifier: Apache-2.0
// Cells of a table: parsing of numbers and dates, and detection of their notation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace graphc::core {

/// Whether the cell is missing: empty, or one of NA, N/A, #N/A, <NA>, NaN, -NaN, null, None in any
/// case, or ?.
bool is_missing(std::string_view cell);

/// The number in a cell: digits with an optional sign, `decimal` (. or ,) before the fraction, and
/// an exponent. The integer part may be grouped in threes by the other one of . and , or by a space
/// (also U+00A0, U+2009 and U+202F) or an apostrophe. `inf` and `nan` are numbers here.
std::optional<double> number_in(std::string_view cell, char decimal);

/// What a cell reveals about the notation of numbers.
enum class DecimalSign : uint8_t {
  none,          ///< nothing: an integer, or not a number
  point,         ///< 1.5, 1,234.5, 1,234,567
  comma,         ///< 1,5, 1.234,5, 1.234.567
  either_comma,  ///< 1,234: either 1.234 or 1234
  either_point,  ///< 1.234, likewise
};
DecimalSign decimal_sign_of(std::string_view cell);

/// The order of the parts of a date. Dates that begin with a four-digit year are always year first.
/// The cells of a column reveal the order of dates with slashes or hyphens; dates with points are
/// day first. An order declared by the user holds for all of them.
enum class DateOrder : uint8_t {
  unknown,
  day_first,
  month_first,
  declared_day_first,
  declared_month_first
};

/// Seconds from 1970-01-01 00:00 to a date with an optional time, in the local time of the file:
/// 2024-01-31, 2024-01-31T13:00, 2024/01/31 13:00:00.5, 31.01.2024 13:00, 31/01/2024, 31-01-2024.
/// An offset (Z, +01:00) is validated and ignored. Empty for a cell that is not a date, and if the
/// date depends on an unknown order.
std::optional<double> date_in(std::string_view cell, DateOrder order);

/// The order that a date with slashes or hyphens reveals: unknown if both readings are dates, or if
/// it is not a date.
DateOrder date_order_of(std::string_view cell);

/// Whether the cell is a date in at least one order.
bool is_date(std::string_view cell);

}  // namespace graphc::core
