// SPDX-License-Identifier: Apache-2.0
// Text without the blanks around it.
#pragma once

#include <string_view>

namespace graphc::core::testing {

/// The text without spaces, tabs and ends of lines at its begin and end.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace graphc::core::testing
