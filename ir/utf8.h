// SPDX-License-Identifier: Apache-2.0
// Bytes as characters, and texts of others as messages and terminals may show them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace graphc::core {

/// The text without the byte order mark that editors of Windows begin a file in UTF-8 with.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

/// U+FFFD, which stands for what is no character.
inline constexpr char32_t kReplacement = 0xFFFD;

/// The code point at the beginning of the text, which is not empty, and its bytes. A byte that
/// begins no UTF-8 sequence is {kReplacement, 0}: too long forms, surrogates and code points above
/// U+10FFFF are none (RFC 3629).
std::pair<char32_t, size_t> decode_utf8(std::string_view text);

/// A name, a value or a path that comes from a file or the command line, on one line, as a message
/// can show it: characters that are written stay; every byte of the others is \xNN. The others are
/// control characters, those that hide, break or reorder text, and what is no UTF-8. Of a text of
/// more than `most` bytes its beginning and its length are shown: `aaa... (70000 bytes)`.
std::string printable(std::string_view text, size_t most = 200);

/// A text of lines for a terminal: as printable(), with tabs and the ends of lines as they are and
/// nothing left out.
std::string printable_lines(std::string_view text);

/// What an error says: as printable(), but what is longer than 2000 bytes lacks its middle, and
/// the end of a line stays where an indented line follows. So no text within a message can look
/// like another message.
std::string printable_message(std::string_view text);

}  // namespace graphc::core
