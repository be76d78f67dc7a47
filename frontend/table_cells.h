// SPDX-License-Identifier: Apache-2.0
// Cells of a table as numbers and dates: what they are, and what shows how they are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace graphc::core {

/// Whether the cell says that there is no value: it is empty, or one of NA, N/A, #N/A, <NA>, NaN,
/// -NaN, null, None in any case, or ?.
bool is_missing(std::string_view cell);

/// The number that a cell is: digits with a sign, `decimal` (. or ,) before the fraction, and an
/// exponent. Whole parts may be in groups of three, with the other one of . and , between them, a
/// space (U+00A0, U+2009 and U+202F too) or an apostrophe. `inf` and `nan` are numbers here.
std::optional<double> number_in(std::string_view cell, char decimal);

/// What a cell shows of how numbers are written.
enum class DecimalSign : uint8_t {
  none,          ///< nothing: it is whole, or no number
  point,         ///< 1.5, 1,234.5, 1,234,567
  comma,         ///< 1,5, 1.234,5, 1.234.567
  either_comma,  ///< 1,234: in the one way 1.234, in the other 1234
  either_point,  ///< 1.234, likewise
};
DecimalSign decimal_sign_of(std::string_view cell);

/// In which order a date has its parts. Dates that begin with a year of four digits are year first
/// in every order. A column's cells show the order of dates between strokes or hyphens, and those
/// between points are day first; what the user declares holds for all.
enum class DateOrder : uint8_t {
  unknown,
  day_first,
  month_first,
  declared_day_first,
  declared_month_first
};

/// Seconds from 1970-01-01 00:00 to a date, and the time behind it if there is one, by the clock
/// that wrote it: 2024-01-31, 2024-01-31T13:00, 2024/01/31 13:00:00.5, 31.01.2024 13:00,
/// 31/01/2024, 31-01-2024. An offset (Z, +01:00) is checked and left out of account. Nothing for a
/// cell that is no date, and where the order decides and is unknown.
std::optional<double> date_in(std::string_view cell, DateOrder order);

/// What a date between strokes or hyphens shows of its order: unknown where both readings are
/// dates, or where it is none.
DateOrder date_order_of(std::string_view cell);

/// Whether it is a date in one order at least, of those that a cell shows.
bool is_date(std::string_view cell);

}  // namespace graphc::core
