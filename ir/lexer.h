// SPDX-License-Identifier: Apache-2.0
// The lexer: tokens with their positions, and the spelling rules that printer and parser share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/op.h"

namespace graphc::core {

enum class TokenKind : uint8_t { value, global, word, integer, floating, string, symbol, end };

/// One token of the text.
struct Token {
  TokenKind kind = TokenKind::end;
  /// A name without its `%` or `@`, a string without quotes and escapes, otherwise as written.
  std::string text;
  int line = 1, column = 1;  ///< of its first character, 1-based, in bytes
  int width = 1;             ///< characters as written, on its first line
  int64_t integer = 0;       ///< of an integer
  double floating = 0;       ///< of a floating-point number

  bool is(char symbol) const { return kind == TokenKind::symbol && text[0] == symbol; }
  bool is(std::string_view word) const { return kind == TokenKind::word && text == word; }
};

/// A text and the name of its file, for error messages.
class SourceText {
 public:
  SourceText(std::string_view text, std::string_view file_name)
      : text_(text), file_(intern_file_name(file_name)) {}

  std::string_view text() const { return text_; }
  Where where(const Token& token) const { return {file_, token.line, token.column}; }

  /// An input error at the token; the message is followed by the line with the token marked.
  template <typename... Args>
  Error error(const Token& token, fmt::format_string<Args...> format, Args&&... args) const {
    return marked(token, fmt::format(format, std::forward<Args>(args)...));
  }
  Error marked(const Token& token, const std::string& message) const;

 private:
  std::string_view text_;
  const char* file_;
};

/// All tokens of the text; the last one is `end`. Throws ErrorKind::input at anything else.
std::vector<Token> tokens_of(const SourceText& source);

/// Whether the text is a word: letters, digits and underscores, not starting with a digit.
bool is_word(std::string_view text);
/// The name for use after `%` or `@`: as is, or quoted if it has characters other than letters,
/// digits and `_ . / -`.
std::string spelled_name(const std::string& name);
/// Whether a number may be written for this operand, with the dtype of the other such operands:
/// every operand except the condition of a select.
bool takes_number(const Op& op, size_t operand);

}  // namespace graphc::core
