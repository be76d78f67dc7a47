// SPDX-License-Identifier: Apache-2.0
#include "frontend/table_cells.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>

namespace graphc::core {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t digits_at(std::string_view text) {
  return size_t(std::ranges::find_if_not(text, is_digit) - text.begin());
}

bool equals_in_any_case(std::string_view a, std::string_view lower) {
  return std::ranges::equal(a, lower,
                            [](unsigned char x, unsigned char y) { return std::tolower(x) == y; });
}

/// A group separator that is unambiguous in every locale.
std::string_view neutral_separator(std::string_view text) {
  // Space, apostrophes, no-break space, thin space, narrow no-break space.
  for (const std::string_view each : {" ", "'", "\u2019", "\u00a0", "\u2009", "\u202f"}) {
    if (text.starts_with(each)) return each;
  }
  return {};
}

/// The digits of an integer part in groups of three, and their separator.
struct Groups {
  std::string digits;
  std::string_view separator;  ///< empty: no groups
  size_t count = 0;            ///< groups after the first
};

/// Consumes the groups at the start of `text`.
Groups take_groups(std::string_view& text, std::string_view separator) {
  Groups groups;
  const size_t first = digits_at(text);
  groups.digits = text.substr(0, first);
  text.remove_prefix(first);
  if (first == 0 || first > 3) return groups;
  const std::string_view found =
      separator.empty() ? neutral_separator(text)
                        : (text.starts_with(separator) ? separator : std::string_view());
  if (found.empty()) return groups;
  while (text.starts_with(found) && digits_at(text.substr(found.size())) == 3) {
    groups.digits += text.substr(found.size(), 3);
    groups.separator = found;
    ++groups.count;
    text.remove_prefix(found.size() + 3);
  }
  return groups;
}

bool is_exponent(std::string_view text) {
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return !text.empty() && digits_at(text) == text.size();
}

/// The cell in the notation of from_chars; empty if it is not a number.
std::string plain_number(std::string_view cell, char decimal) {
  std::string plain;
  if (!cell.empty() && (cell[0] == '+' || cell[0] == '-')) {
    if (cell[0] == '-') plain = "-";
    cell.remove_prefix(1);
  }
  if (equals_in_any_case(cell, "inf") || equals_in_any_case(cell, "infinity")) return plain + "inf";
  if (equals_in_any_case(cell, "nan")) return plain + "nan";
  std::string_view rest = cell;
  Groups groups = take_groups(rest, decimal == '.' ? "," : ".");
  if (groups.count == 0) {
    rest = cell;
    groups = take_groups(rest, "");
  }
  plain += groups.digits;
  size_t digits = groups.digits.size();
  if (!rest.empty() && rest[0] == decimal) {
    rest.remove_prefix(1);
    const size_t fraction = digits_at(rest);
    plain += "." + std::string(rest.substr(0, fraction));
    digits += fraction;
    rest.remove_prefix(fraction);
  }
  if (digits == 0 || !is_exponent(rest)) return {};
  return plain + std::string(rest);
}

/// Consumes a number with `least` to `most` digits.
std::optional<int> take_int(std::string_view& text, size_t least, size_t most) {
  const size_t count = digits_at(text);
  if (count < least || count > most) return std::nullopt;
  int number = 0;
  std::from_chars(text.data(), text.data() + count, number);
  text.remove_prefix(count);
  return number;
}

bool take_one(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

/// Three numbers and the character between them.
struct DateParts {
  int a = 0, b = 0, c = 0;
  char between = 0;
  bool year_first = false;
  double seconds = 0;  ///< of the day
};

/// Consumes Z, +01:00, -0500, or nothing.
bool take_offset(std::string_view& text) {
  if (text.empty() || take_one(text, 'Z')) return true;
  if (!take_one(text, '+') && !take_one(text, '-')) return false;
  const auto hours = take_int(text, 2, 4);
  if (!hours) return false;
  take_one(text, ':');
  if (text.empty()) return true;
  return take_int(text, 2, 2).has_value();
}

/// Consumes the time after a date; in seconds.
std::optional<double> take_time(std::string_view& text) {
  const auto hours = take_int(text, 1, 2);
  if (!hours || *hours > 23 || !take_one(text, ':')) return std::nullopt;
  const auto minutes = take_int(text, 2, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  double seconds = 0;
  if (take_one(text, ':')) {
    const auto whole = take_int(text, 2, 2);
    if (!whole || *whole > 60) return std::nullopt;
    seconds = *whole;
    if (take_one(text, '.') || take_one(text, ',')) {
      const size_t digits = digits_at(text);
      if (digits == 0) return std::nullopt;
      seconds += std::strtod(("0." + std::string(text.substr(0, digits))).c_str(), nullptr);
      text.remove_prefix(digits);
    }
  }
  return *hours * 3600.0 + *minutes * 60.0 + seconds;
}

std::optional<DateParts> parts_of(std::string_view text) {
  DateParts parts;
  const size_t first = digits_at(text);
  parts.year_first = first == 4;
  const auto a = take_int(text, 1, 4);
  if (!a || first == 3 || text.empty()) return std::nullopt;
  parts.between = text[0];
  if (std::string_view("-/.").find(parts.between) == std::string_view::npos) return std::nullopt;
  text.remove_prefix(1);
  const auto b = take_int(text, 1, 2);
  if (!b || !take_one(text, parts.between)) return std::nullopt;
  // A year needs four digits: with two, the century is unknown.
  const auto c = parts.year_first ? take_int(text, 1, 2) : take_int(text, 4, 4);
  if (!c) return std::nullopt;
  parts.a = *a;
  parts.b = *b;
  parts.c = *c;
  if (text.empty()) return parts;
  if (!take_one(text, ' ') && !take_one(text, 'T')) return std::nullopt;
  const auto seconds = take_time(text);
  if (!seconds || !take_offset(text) || !text.empty()) return std::nullopt;
  parts.seconds = *seconds;
  return parts;
}

std::optional<double> seconds_of(int year, int month, int day, double seconds) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(unsigned(month)),
                                         std::chrono::day(unsigned(day))};
  if (!date.ok()) return std::nullopt;
  return double(std::chrono::sys_days(date).time_since_epoch().count()) * 86400 + seconds;
}

std::optional<double> read_parts(const DateParts& parts, DateOrder order) {
  if (parts.year_first) {
    return parts.between == '.' ? std::nullopt
                                : seconds_of(parts.a, parts.b, parts.c, parts.seconds);
  }
  const bool is_shown = order == DateOrder::unknown || order == DateOrder::month_first;
  if (parts.between == '.' && is_shown) order = DateOrder::day_first;
  if (order == DateOrder::unknown) return std::nullopt;
  const bool day = order == DateOrder::day_first || order == DateOrder::declared_day_first;
  return day ? seconds_of(parts.c, parts.b, parts.a, parts.seconds)
             : seconds_of(parts.c, parts.a, parts.b, parts.seconds);
}

}  // namespace

bool is_missing(std::string_view cell) {
  constexpr std::array<std::string_view, 9> kMarks{"",     "na",   "n/a",  "#n/a", "nan",
                                                   "-nan", "null", "none", "<na>"};
  return cell == "?" || std::ranges::any_of(kMarks, [&](std::string_view mark) {
           return equals_in_any_case(cell, mark);
         });
}

std::optional<double> number_in(std::string_view cell, char decimal) {
  const std::string plain = plain_number(cell, decimal);
  if (plain.empty()) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), number);
  // Overflow or underflow; from_chars does not distinguish them.
  if (error == std::errc::result_out_of_range) return std::strtod(plain.c_str(), nullptr);
  if (error != std::errc() || end != plain.data() + plain.size()) return std::nullopt;
  return number;
}

DecimalSign decimal_sign_of(std::string_view cell) {
  const bool has_point = cell.find('.') != cell.npos, has_comma = cell.find(',') != cell.npos;
  if (!has_point && !has_comma) return DecimalSign::none;
  const bool as_point = number_in(cell, '.').has_value(),
             as_comma = number_in(cell, ',').has_value();
  if (as_point && as_comma) {
    // A group is never preceded by 0.
    const size_t first = cell.find_first_of("0123456789");
    const bool leads_with_zero = first != cell.npos && cell[first] == '0';
    if (leads_with_zero) return has_point ? DecimalSign::point : DecimalSign::comma;
    return has_point ? DecimalSign::either_point : DecimalSign::either_comma;
  }
  if (as_point) return DecimalSign::point;
  return as_comma ? DecimalSign::comma : DecimalSign::none;
}

std::optional<double> date_in(std::string_view cell, DateOrder order) {
  const auto parts = parts_of(cell);
  return parts ? read_parts(*parts, order) : std::nullopt;
}

DateOrder date_order_of(std::string_view cell) {
  const auto parts = parts_of(cell);
  if (!parts || parts->year_first || parts->between == '.') return DateOrder::unknown;
  const bool day = read_parts(*parts, DateOrder::day_first).has_value();
  const bool month = read_parts(*parts, DateOrder::month_first).has_value();
  if (day == month) return DateOrder::unknown;
  return day ? DateOrder::day_first : DateOrder::month_first;
}

bool is_date(std::string_view cell) {
  return date_in(cell, DateOrder::day_first).has_value() ||
         date_in(cell, DateOrder::month_first).has_value();
}

}  // namespace graphc::core
