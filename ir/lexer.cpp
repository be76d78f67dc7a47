// SPDX-License-Identifier: Apache-2.0
#include "ir/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace graphc::core {
namespace {

constexpr int kMaxShownColumns = 160;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_character(char c) { return is_letter(c) || is_digit(c); }
bool is_name_character(char c) { return is_word_character(c) || c == '.' || c == '/' || c == '-'; }

class Lexer {
 public:
  explicit Lexer(const SourceText& source) : source_(source), text_(source.text()) {}

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

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '\n') {
        ++line_;
        line_start_ = ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        break;
      }
    }
  }

  Token next() {
    start_ = at_;
    const char c = peek();
    if (at_ == text_.size()) return token(TokenKind::end, "");
    if (c == '%' || c == '@') return name(c == '%' ? TokenKind::value : TokenKind::global);
    if (c == '"') return token(TokenKind::string, quoted());
    if (is_digit(c) || (c == '-' && is_digit(peek(1)))) return number();
    if (c == '-' && text_.substr(at_ + 1).starts_with("inf")) ++at_;
    if (is_letter(peek())) return word();
    if (c != '\0' && std::string_view("(){}[]=,:;.").find(c) != std::string_view::npos) {
      ++at_;
      return token(TokenKind::symbol, std::string(1, c));
    }
    ++at_;
    throw source_.error(token(TokenKind::symbol, ""), "unexpected character {}",
                        c > ' ' && c < '\x7f' ? fmt::format("'{}'", c)
                                              : fmt::format("of code {}", int(uint8_t(c))));
  }

  Token token(TokenKind kind, std::string text) const {
    Token token;
    token.kind = kind;
    token.text = std::move(text);
    token.line = line_;
    token.column = int(start_ - line_start_) + 1;
    token.width = std::max(1, int(at_ - start_));
    return token;
  }

  Token name(TokenKind kind) {
    const char sign = text_[at_++];
    if (peek() == '"') return token(kind, quoted());
    const size_t first = at_;
    while (is_name_character(peek())) ++at_;
    if (at_ == first) throw source_.error(token(kind, ""), "a name is missing after '{}'", sign);
    return token(kind, std::string(text_.substr(first, at_ - first)));
  }

  std::string quoted() {
    std::string result;
    for (++at_; peek() != '"'; ++at_) {
      if (at_ >= text_.size() || text_[at_] == '\n')
        throw source_.error(token(TokenKind::string, ""), "a string without its closing quote");
      if (text_[at_] == '\\') {
        const char escape = peek(1);
        if (escape != 'n' && escape != '"' && escape != '\\')
          throw source_.error(token(TokenKind::string, ""),
                              "an unknown escape in a string: there are \\n, \\\" and \\\\");
        ++at_;
        result += escape == 'n' ? '\n' : escape;
      } else {
        result += text_[at_];
      }
    }
    ++at_;
    return result;
  }

  Token word() {
    while (is_word_character(peek())) ++at_;
    const std::string_view text = text_.substr(start_, at_ - start_);
    Token result = token(TokenKind::word, std::string(text));
    if (text == "inf" || text == "-inf" || text == "nan") {
      result.kind = TokenKind::floating;
      const double infinity = std::numeric_limits<double>::infinity();
      result.floating = text == "nan" ? std::nan("") : text == "inf" ? infinity : -infinity;
    } else if (text[0] == '-') {
      throw source_.error(result, "unexpected '{}'", text);
    }
    return result;
  }

  Token number() {
    bool floating = false;
    at_ += peek() == '-';
    while (is_digit(peek())) ++at_;
    if (peek() == '.') {
      floating = true;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      floating = true;
      ++at_;
      at_ += peek() == '+' || peek() == '-';
      while (is_digit(peek())) ++at_;
    }
    while (is_name_character(peek())) ++at_;  // include everything attached to it in the message
    const std::string_view text = text_.substr(start_, at_ - start_);
    Token result = token(floating ? TokenKind::floating : TokenKind::integer, std::string(text));
    const char *begin = text.data(), *end = begin + text.size();
    const auto [stop, status] = floating ? std::from_chars(begin, end, result.floating)
                                         : std::from_chars(begin, end, result.integer);
    if (status == std::errc::result_out_of_range)
      throw source_.error(result, "{} is outside the range of {}", text, floating ? "f64" : "i64");
    if (status != std::errc() || stop != end)
      throw source_.error(result, "'{}' is not a number", text);
    return result;
  }

  const SourceText& source_;
  std::string_view text_;
  size_t at_ = 0, start_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokens_of(const SourceText& source) { return Lexer(source).tokens(); }

Error SourceText::marked(const Token& token, const std::string& message) const {
  size_t start = 0;
  for (int line = 1; line < token.line; ++line) start = text_.find('\n', start) + 1;
  std::string line(text_.substr(start, text_.find('\n', start) - start));
  std::string mark;
  const auto is_continuation = [](char c) { return (c & '\xC0') == '\x80'; };
  for (int i = 0; i < int(line.size()); ++i) {
    if ((line[size_t(i)] >= 0 && line[size_t(i)] < ' ') || line[size_t(i)] == '\x7f')
      line[size_t(i)] = ' ';
    if (i < token.column - 1 && !is_continuation(line[size_t(i)])) mark += ' ';
  }
  const int shown = std::min<int>(token.width, std::max(1, int(line.size()) - token.column + 1));
  mark += '^' + std::string(size_t(shown - 1), '~');
  if (line.size() > kMaxShownColumns) return input_error(where(token), "{}", message);
  while (!line.empty() && line.back() == ' ' && int(line.size()) >= token.column) line.pop_back();
  return input_error(where(token), "{}\n    {}\n    {}", message, line, mark);
}

bool is_word(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), is_word_character);
}

std::string spelled_name(const std::string& name) {
  if (!name.empty() && std::all_of(name.begin(), name.end(), is_name_character)) return name;
  return to_string(Attribute(name));
}

bool takes_number(const Op& op, size_t operand) { return &op != &ops::select || operand > 0; }

}  // namespace graphc::core
