// SPDX-License-Identifier: Apache-2.0
// UTF-8 decoding, and safe display of foreign texts in messages and on terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace graphc::core {

/// The text without the byte order mark that Windows editors write at the start of UTF-8 files.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

/// U+FFFD, the replacement character.
inline constexpr char32_t kReplacement = 0xFFFD;

/// The code point at the start of the text, which is not empty, and its length in bytes. A byte
/// that does not start a UTF-8 sequence is {kReplacement, 0}; overlong forms, surrogates and code
/// points above U+10FFFF are invalid (RFC 3629).
std::pair<char32_t, size_t> decode_utf8(std::string_view text);

/// A name, a value or a path from a file or the command line, made safe for a one-line message:
/// printable characters stay, every byte of the others is \xNN. The others are control characters,
/// characters that hide, break or reorder text, and invalid UTF-8. A text longer than `most` bytes
/// is cut, with its length: `aaa... (70000 bytes)`.
std::string printable(std::string_view text, size_t most = 200);

/// A multi-line text for a terminal: like printable(), but keeps tabs and line ends and is never
/// cut.
std::string printable_lines(std::string_view text);

/// The text of an error: like printable(), but a text longer than 2000 bytes loses its middle, and
/// a line end before an indented line is kept. So no text in a message can look like another
/// message.
std::string printable_message(std::string_view text);

}  // namespace graphc::core
