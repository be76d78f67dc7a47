// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/cuda/emulator/builtins.h"
#include "tests/cuda/emulator/parser.h"

namespace graphc::core::cuda_emulator {
namespace {

constexpr std::array<std::string_view, 11> type_words_known = {
    "void",     "bool",   "char",  "short",  "int",  "long",
    "unsigned", "signed", "float", "double", "const"};

bool is_reserved(const std::string& word) {
  static constexpr std::array<std::string_view, 31> words = {
      "if",       "else",      "for",      "while",    "do",       "break",  "continue",  "return",
      "true",     "false",     "sizeof",   "extern",   "static",   "struct", "class",     "typedef",
      "template", "goto",      "switch",   "case",     "volatile", "auto",   "namespace", "using",
      "inline",   "threadIdx", "blockIdx", "blockDim", "gridDim",  "union",  "asm"};
  return std::ranges::count(words, word) + std::ranges::count(type_words_known, word) > 0;
}

std::optional<Scalar> scalar_of(std::map<std::string, int> counts) {
  int longs = counts["long"];
  counts.erase("long");
  std::string words;
  for (const auto& [word, count] : counts) {
    if (count > 1) return std::nullopt;
    if (count == 1) words += (words.empty() ? "" : " ") + word;
  }
  static const std::map<std::string, Scalar> plain = {
      {"void", Scalar::nothing},    {"bool", Scalar::boolean},     {"char", Scalar::i8},
      {"int", Scalar::i32},         {"unsigned", Scalar::u32},     {"float", Scalar::f32},
      {"double", Scalar::f64},      {"char unsigned", Scalar::u8}, {"short unsigned", Scalar::u16},
      {"int unsigned", Scalar::u32}};
  static const std::map<std::string, Scalar> twice_long = {{"", Scalar::i64},
                                                           {"int", Scalar::i64},
                                                           {"unsigned", Scalar::u64},
                                                           {"int unsigned", Scalar::u64}};
  if (longs != 0 && longs != 2) return std::nullopt;
  const auto& table = longs == 0 ? plain : twice_long;
  const auto found = table.find(words);
  if (found == table.end()) return std::nullopt;
  return found->second;
}

}  // namespace

bool Parser::take_if(std::string_view what) {
  if (!peek().is(what)) return false;
  take();
  return true;
}

void Parser::want(std::string_view what) {
  if (!take_if(what)) refuse(fmt::format("'{}'", what));
}

std::string Parser::name(const char* what) {
  if (peek().kind != TokenKind::word || is_reserved(peek().text)) refuse(what);
  return take().text;
}

void Parser::refuse(const std::string& wanted) const {
  const Token& token = peek();
  const std::string found =
      token.kind == TokenKind::end ? "the end of the text" : fmt::format("'{}'", token.text);
  fail(token.position, fmt::format("found {}, wanted {}", found, wanted));
}

void Parser::fail(Position position, const std::string& message) const {
  throw text_error(file_, position, message);
}

Functions Parser::functions() {
  while (peek().kind != TokenKind::end) function();
  return std::move(functions_);
}

void Parser::function() {
  functions_.push_back(std::make_unique<Function>());
  Function& result = *functions_.back();
  current_ = &result;
  scopes_.assign(1, {});
  result.position = peek().position;
  if (take_if("extern")) {
    if (peek().kind != TokenKind::string || peek().text != "\"C\"") refuse("\"C\"");
    take();
    want("__global__");
    want("void");
    result.is_kernel = true;
    result.most_threads = launch_bounds();
  } else {
    const bool is_static = take_if("static");
    if (!peek().is("__device__"))
      refuse(is_static ? "'__device__'" : "a __device__ function or an extern \"C\" kernel");
    take();
    take_if("__forceinline__");
    bool is_const = false;
    result.result = pointer_to(type_words(&is_const), &is_const);
  }
  const Token named = peek();
  result.name = name("the name of a function");
  if (by_name_.contains(result.name) || !builtins_named(result.name).empty())
    fail(named.position, fmt::format("found a second function '{}', wanted one", result.name));
  want("(");
  if (!take_if(")")) {
    do result.parameters.push_back(parameter());
    while (take_if(","));
    want(")");
  }
  if (!peek().is("{")) refuse("'{', the function's body");
  result.body = block(false);
  by_name_[result.name] = &result;
}

unsigned Parser::launch_bounds() {
  want("__launch_bounds__");
  want("(");
  const Position position = peek().position;
  const std::optional<int64_t> threads = known_integer(*conditional());
  if (take_if(",")) conditional();
  want(")");
  if (!threads || *threads < 1 || *threads > 1024)
    fail(position, "found other launch bounds, wanted a number from 1 to 1024");
  return unsigned(*threads);
}

Symbol* Parser::parameter() {
  bool is_const = false;
  Type type = pointer_to(type_words(&is_const), &is_const);
  if (!type.pointer && type.scalar == Scalar::nothing) refuse("a parameter that is not void");
  if (type.is(Scalar::i8)) refuse("a parameter of another type than char");
  const Token token = peek();
  name("the name of a parameter");
  if (peek().is("[")) refuse("a pointer as the parameter, not an array");
  Symbol* symbol = declare(token, type);
  symbol->storage = Storage::parameter;
  symbol->is_const = is_const;
  return symbol;
}

bool Parser::at_type() const {
  return peek().kind == TokenKind::word && std::ranges::count(type_words_known, peek().text) > 0;
}

Type Parser::type_words(bool* is_const) {
  const Position position = peek().position;
  if (!at_type()) refuse("a type");
  std::map<std::string, int> counts;
  std::string written;
  while (at_type()) {
    written += (written.empty() ? "" : " ") + peek().text;
    if (peek().is("const"))
      *is_const = true;
    else
      ++counts[peek().text];
    take();
  }
  const std::optional<Scalar> scalar = scalar_of(counts);
  if (!scalar)
    fail(position, fmt::format("found '{}', wanted one of void, bool, char, unsigned char, "
                               "unsigned short, int, unsigned, long long, unsigned long long, "
                               "float, double",
                               written));
  Type type;
  type.scalar = *scalar;
  return type;
}

/// The stars behind a type. `is_const` goes in as the scalar's and comes out as the variable's.
Type Parser::pointer_to(Type type, bool* is_const) {
  if (!take_if("*")) return type;
  type.pointer = true;
  type.to_const = *is_const;
  *is_const = false;
  for (;;) {
    if (take_if("const"))
      *is_const = true;
    else if (!take_if("__restrict__"))
      break;
  }
  if (peek().is("*")) refuse("a pointer to scalars, not to pointers");
  return type;
}

Type Parser::type_name() {
  bool is_const = false;
  return pointer_to(type_words(&is_const), &is_const);
}

int64_t Parser::extent() {
  want("[");
  const Position position = peek().position;
  if (peek().is("]")) refuse("the array's extent");
  const std::optional<int64_t> extent = known_integer(*conditional());
  if (!extent || *extent < 1 || *extent > (1 << 24))
    fail(position, "found another extent, wanted a constant number of at least 1");
  want("]");
  return *extent;
}

Symbol* Parser::declare(const Token& token, Type type) {
  if (scopes_.back().contains(token.text))
    fail(token.position, fmt::format("found a second '{}', wanted one in its block", token.text));
  current_->symbols.push_back(std::make_unique<Symbol>());
  Symbol* symbol = current_->symbols.back().get();
  symbol->name = token.text;
  symbol->type = std::move(type);
  scopes_.back()[token.text] = symbol;
  return symbol;
}

Symbol* Parser::find(const std::string& wanted) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(wanted);
    if (found != scope->end()) return found->second;
  }
  return nullptr;
}

}  // namespace graphc::core::cuda_emulator
