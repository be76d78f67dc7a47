// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/lexer.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace graphc::core::cuda_emulator {
namespace {

bool is_digit_character(char c) { return c >= '0' && c <= '9'; }
bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_part(char c) { return is_word_start(c) || is_digit_character(c); }

// Longest first.
constexpr std::array<std::string_view, 22> long_symbols = {
    "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
    "&&",  "||",  "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::"};
constexpr std::string_view short_symbols = "()[]{}<>;,.?:=+-*/%&|^~!";

class Lexer {
 public:
  Lexer(std::string_view text, const char* file) : text_(text), file_(file) {}

  std::vector<Token> tokens() {
    std::vector<Token> tokens;
    do {
      skip_blanks();
      tokens.push_back(next());
    } while (tokens.back().kind != TokenKind::end);
    return tokens;
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  Position here() const { return {line_, int(at_ - line_start_) + 1}; }

  /// A line that goes on in the next one hides it where it is a comment; no text has a use for one.
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    const std::string_view line = text_.substr(line_start_, at_ - line_start_);
    const size_t last = line.find_last_not_of(" \t\r");
    if (last != line.npos && line[last] == '\\')
      throw text_error(file_, here(), "found a line that ends in a backslash, wanted none");
  }

  void skip_blanks() {
    for (; at_ < text_.size();) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        skip_line();
      } else if (c == '#') {
        check_directive();
        skip_line();
      } else {
        break;
      }
    }
  }

  void check_directive() const {
    const std::string_view line = text_.substr(at_, text_.find('\n', at_) - at_);
    constexpr std::string_view unroll = "#pragma unroll";
    const bool first =
        text_.substr(line_start_, at_ - line_start_).find_first_not_of(" \t") == line.npos;
    if (!first || !line.starts_with(unroll) ||
        line.find_first_not_of(" \t\r0123456789", unroll.size()) != line.npos)
      throw text_error(file_, here(),
                       fmt::format("found '{}', wanted no line of the preprocessor but "
                                   "'#pragma unroll'",
                                   line));
  }

  Token token(TokenKind kind, size_t length) {
    Token token;
    token.kind = kind;
    token.text = std::string(text_.substr(at_, length));
    token.position = here();
    at_ += length;
    return token;
  }

  Token next() {
    const char c = peek();
    if (at_ == text_.size()) return token(TokenKind::end, 0);
    if (is_word_start(c)) {
      size_t length = 1;
      while (is_word_part(peek(length))) ++length;
      return token(TokenKind::word, length);
    }
    if (is_digit_character(c) || (c == '.' && is_digit_character(peek(1)))) return number();
    if (c == '"') {
      size_t length = 1;
      while (peek(length) != '"' && peek(length) != '\n' && at_ + length < text_.size()) ++length;
      if (peek(length) != '"')
        throw text_error(file_, here(), "found a string without its closing quote");
      return token(TokenKind::string, length + 1);
    }
    for (const std::string_view symbol : long_symbols)
      if (text_.substr(at_).starts_with(symbol)) return token(TokenKind::symbol, symbol.size());
    if (c != '\0' && short_symbols.find(c) != short_symbols.npos)
      return token(TokenKind::symbol, 1);
    throw text_error(
        file_, here(),
        c > ' ' && c < '\x7f'
            ? fmt::format("found the character '{}', wanted a token", c)
            : fmt::format("found a character of code {}, wanted a token", int(uint8_t(c))));
  }

  Token number() {
    const bool hexadecimal = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
    bool floating = false;
    size_t length = hexadecimal ? 2 : 0;
    for (;; ++length) {
      const char c = peek(length), before = length > 0 ? peek(length - 1) : '\0';
      const bool exponent = hexadecimal ? c == 'p' || c == 'P' : c == 'e' || c == 'E';
      const bool after_exponent =
          hexadecimal ? before == 'p' || before == 'P' : before == 'e' || before == 'E';
      floating |= c == '.' || exponent;
      if (!is_word_part(c) && c != '.' && !((c == '+' || c == '-') && after_exponent)) break;
    }
    Token result = token(floating ? TokenKind::floating : TokenKind::integer, length);
    if (floating)
      read_floating(result);
    else
      read_integer(result, hexadecimal);
    return result;
  }

  void read_floating(Token& token) const {
    const char* begin = token.text.c_str();
    char* stop = nullptr;
    const bool narrow = token.text.back() == 'f' || token.text.back() == 'F';
    // Once to its own precision: twice rounded, a value may be the wrong neighbour.
    token.floating = narrow ? std::strtof(begin, &stop) : std::strtod(begin, &stop);
    token.scalar = narrow ? Scalar::f32 : Scalar::f64;
    if (stop + (narrow ? 1 : 0) != begin + token.text.size()) throw not_a_number(token);
  }

  void read_integer(Token& token, bool hexadecimal) const {
    const char* begin = token.text.c_str();
    char* stop = nullptr;
    if (!hexadecimal && token.text.size() > 1 && token.text[0] == '0' &&
        is_digit_character(token.text[1]))
      throw text_error(file_, token.position,
                       fmt::format("found the octal number {}, wanted a decimal or hexadecimal one",
                                   token.text));
    errno = 0;
    token.integer = std::strtoull(begin, &stop, hexadecimal ? 16 : 10);
    std::string suffix = stop;
    for (char& c : suffix) c = c == 'U' ? 'u' : c == 'L' ? 'l' : c;
    if (errno != 0 || (suffix != "" && suffix != "u" && suffix != "ll" && suffix != "ull"))
      throw not_a_number(token);
    const bool fits_31 = token.integer < (uint64_t(1) << 31);
    const bool fits_32 = token.integer < (uint64_t(1) << 32);
    const bool fits_63 = token.integer < (uint64_t(1) << 63);
    if (suffix == "ull" || !fits_63) {
      if (suffix != "ull" && !hexadecimal && suffix != "u") throw not_a_number(token);
      token.scalar = Scalar::u64;
    } else if (suffix == "u") {
      token.scalar = fits_32 ? Scalar::u32 : Scalar::u64;
    } else if (suffix == "ll") {
      token.scalar = Scalar::i64;
    } else if (hexadecimal && fits_32 && !fits_31) {
      token.scalar = Scalar::u32;
    } else {
      token.scalar = fits_31 ? Scalar::i32 : Scalar::i64;
    }
  }

  Error not_a_number(const Token& token) const {
    return text_error(file_, token.position,
                      fmt::format("found '{}', wanted a number", token.text));
  }

  std::string_view text_;
  const char* file_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, const char* file) {
  return Lexer(text, file).tokens();
}

Error text_error(const char* file, Position position, const std::string& message) {
  return Error(ErrorKind::input, Where{file, position.line, position.column}, message);
}

}  // namespace graphc::core::cuda_emulator
