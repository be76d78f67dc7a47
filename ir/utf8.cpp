// SPDX-License-Identifier: Apache-2.0
#include "ir/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace graphc::core {
namespace {

constexpr size_t kLongestLine = 2000, kKeptOfBeginning = 1400, kKeptOfEnd = 500;

/// Ranges of code points that control a terminal or are invisible: control characters, directional
/// marks and overrides, separators, joiners and zero-width characters, tags.
constexpr char32_t kHidden[][2] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},
                                   {0x061C, 0x061C}, {0x180E, 0x180E}, {0x200B, 0x200F},
                                   {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
                                   {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE007F}};

bool is_hidden(char32_t point) {
  return std::ranges::any_of(
      kHidden, [=](const auto& range) { return point >= range[0] && point <= range[1]; });
}

/// Whether a byte begins a character or is invalid.
bool begins(char byte) { return (byte & 0xC0) != 0x80; }

/// Makes every character visible; `stays` selects characters to leave unchanged.
template <typename Stays>
std::string shown(std::string_view text, Stays&& stays) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    // The fast path: most of a text is printable ASCII, and a text may be long.
    const auto* plain = std::ranges::find_if_not(text, [](char c) { return c >= ' ' && c < 0x7F; });
    result.append(text.begin(), plain);
    text.remove_prefix(size_t(plain - text.begin()));
    if (text.empty()) break;
    const auto [point, length] = decode_utf8(text);
    const std::string_view bytes = text.substr(0, std::max<size_t>(length, 1));
    if (length > 0 && (!is_hidden(point) || stays(text))) {
      result += bytes;
    } else {
      for (const char byte : bytes)
        fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(byte));
    }
    text.remove_prefix(bytes.size());
  }
  return result;
}

/// Removes the middle of a line that is too long, between characters.
std::string without_middle(std::string_view line) {
  if (line.size() <= kLongestLine) return std::string(line);
  size_t first = kKeptOfBeginning, last = line.size() - kKeptOfEnd;
  while (first > 0 && !begins(line[first])) --first;
  while (last < line.size() && !begins(line[last])) ++last;
  return fmt::format("{}... ({} bytes) ...{}", line.substr(0, first), last - first,
                     line.substr(last));
}

}  // namespace

std::pair<char32_t, size_t> decode_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return char32_t(static_cast<unsigned char>(text[i])); };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {kReplacement, 0};
  char32_t point = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kReplacement, 0};
    point = point << 6 | (byte(i) & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kSmallest[length] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
    return {kReplacement, 0};
  return {point, length};
}

std::string printable(std::string_view text, size_t most) {
  const auto none = [](std::string_view) { return false; };
  if (text.size() <= most) return shown(text, none);
  size_t end = most;
  // A character has at most four bytes; in text that is not UTF-8 any position is as good.
  while (end > 0 && end + 3 > most && !begins(text[end])) --end;
  return fmt::format("{}... ({} bytes)", shown(text.substr(0, end), none), text.size());
}

std::string printable_lines(std::string_view text) {
  return shown(text, [](std::string_view at) { return at[0] == '\n' || at[0] == '\t'; });
}

std::string printable_message(std::string_view text) {
  const std::string whole = shown(text, [](std::string_view at) { return at.starts_with("\n  "); });
  std::string result;
  for (size_t start = 0; start <= whole.size();) {
    const size_t end = std::min(whole.find('\n', start), whole.size());
    if (start > 0) result += '\n';
    result += without_middle(std::string_view(whole).substr(start, end - start));
    start = end + 1;
  }
  return result;
}

}  // namespace graphc::core
