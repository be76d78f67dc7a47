// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/validators.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "tools/commands/words.h"

namespace graphc::core::commands {
namespace {

/// Whether all of `text` is a number of this type.
template <typename Number>
bool parse_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end;
}

CLI::Validator whole_number_between(uint64_t least, uint64_t most, const std::string& shown) {
  const auto refusal = [=](const std::string& text) -> std::string {
    uint64_t number = 0;
    if (parse_number(text, number) && number >= least && number <= most) return "";
    // Mention the upper bound only to users who exceeded it.
    const bool large = text.find_first_not_of("0123456789") == text.npos && text.size() > 18;
    return fmt::format("wanted a whole number from {}{}: found '{}'", least,
                       large ? fmt::format(" to {}", most) : "", text);
  };
  return {refusal, shown};
}

}  // namespace

CLI::Validator whole_number(uint64_t least) {
  return whole_number_between(least, uint64_t(std::numeric_limits<int64_t>::max()),
                              fmt::format("FROM {}", least));
}

CLI::Validator seed_number() {
  return whole_number_between(0, std::numeric_limits<uint64_t>::max(), "");
}

CLI::Validator number_from_zero(double most) {
  const std::string range = most < HUGE_VAL ? fmt::format("from 0 to {}", most) : "from 0";
  const auto refusal = [=](const std::string& text) -> std::string {
    double number = 0;
    if (parse_number(text, number) && std::isfinite(number) && number >= 0 && number <= most)
      return "";
    return fmt::format("wanted a number {}: found '{}'", range, text);
  };
  return {refusal, most < HUGE_VAL ? fmt::format("FROM 0 TO {}", most) : "FROM 0"};
}

void refuse_empty_words(CLI::App& app) {
  const auto refusal = [](const std::string& text) -> std::string {
    return text.empty() ? "wanted a word: found nothing between the quotes" : "";
  };
  for (CLI::Option* option : app.get_options()) {
    if (!may_be_empty(*option) && option->get_items_expected_max() > 0)
      option->check(CLI::Validator(refusal, ""));
  }
  for (CLI::App* verb : app.get_subcommands({})) refuse_empty_words(*verb);
}

}  // namespace graphc::core::commands
