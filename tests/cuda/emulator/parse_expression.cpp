// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "tests/cuda/emulator/builtins.h"
#include "tests/cuda/emulator/parser.h"

namespace graphc::core::cuda_emulator {
namespace {

struct Operator {
  std::string_view text;
  char sign;
};

// By precedence, the loosest first.
const std::array<std::vector<Operator>, 10> levels = {
    {{{"||", 'o'}},
     {{"&&", 'a'}},
     {{"|", '|'}},
     {{"^", '^'}},
     {{"&", '&'}},
     {{"==", 'E'}, {"!=", 'N'}},
     {{"<", '<'}, {">", '>'}, {"<=", 'L'}, {">=", 'G'}},
     {{"<<", 'l'}, {">>", 'r'}},
     {{"+", '+'}, {"-", '-'}},
     {{"*", '*'}, {"/", '/'}, {"%", '%'}}}};

constexpr std::array<Operator, 11> assignments = {{{"=", '\0'},
                                                   {"+=", '+'},
                                                   {"-=", '-'},
                                                   {"*=", '*'},
                                                   {"/=", '/'},
                                                   {"%=", '%'},
                                                   {"&=", '&'},
                                                   {"|=", '|'},
                                                   {"^=", '^'},
                                                   {"<<=", 'l'},
                                                   {">>=", 'r'}}};

}  // namespace

ExpressionPtr Parser::expression() {
  ExpressionPtr first = assignment();
  if (!peek().is(",")) return first;
  ExpressionPtr result = node(ExpressionKind::sequence, first->position, {});
  result->parts.push_back(std::move(first));
  while (take_if(",")) result->parts.push_back(assignment());
  result->type = result->parts.back()->type;
  if (result->type.is_array()) refuse("a value behind the comma, not an array");
  return result;
}

ExpressionPtr Parser::assignment() {
  ExpressionPtr left = conditional();
  for (const Operator& one : assignments) {
    if (!peek().is(one.text)) continue;
    const Position position = take().position;
    return make_assignment(one.sign, std::move(left), assignment(), position);
  }
  return left;
}

ExpressionPtr Parser::conditional() {
  ExpressionPtr choice = binary(0);
  if (!peek().is("?")) return choice;
  const Position position = take().position;
  ExpressionPtr yes = expression();
  want(":");
  return make_conditional(std::move(choice), std::move(yes), assignment(), position);
}

ExpressionPtr Parser::binary(int level) {
  if (level == int(levels.size())) return unary();
  ExpressionPtr left = binary(level + 1);
  for (bool more = true; more;) {
    more = false;
    for (const Operator& one : levels[size_t(level)]) {
      if (!peek().is(one.text)) continue;
      const Position position = take().position;
      ExpressionPtr right = binary(level + 1);
      if (one.sign == 'o' || one.sign == 'a') {
        ExpressionPtr both = node(ExpressionKind::logical, position, type_of(Scalar::boolean));
        both->sign = one.sign == 'o' ? '|' : '&';
        both->parts.push_back(condition(std::move(left)));
        both->parts.push_back(condition(std::move(right)));
        left = std::move(both);
      } else {
        left = make_binary(one.sign, std::move(left), std::move(right), position);
      }
      more = true;
      break;
    }
  }
  return left;
}

ExpressionPtr Parser::unary() {
  const Position position = peek().position;
  for (const char sign : {'+', '-', '!', '~'})
    if (take_if(std::string(1, sign))) return make_unary(sign, unary(), position);
  if (take_if("*")) return make_dereference(unary(), position);
  if (take_if("&")) return make_address(unary(), position);
  if (take_if("++")) return make_step('+', false, unary(), position);
  if (take_if("--")) return make_step('-', false, unary(), position);
  if (peek().is("sizeof")) return size_of();
  if (peek().is("(")) {
    take();
    if (!at_type()) {
      --at_;
      return postfix();
    }
    const Type type = type_name();
    want(")");
    return converted(unary(), type, true);
  }
  return postfix();
}

ExpressionPtr Parser::size_of() {
  ExpressionPtr result = node(ExpressionKind::constant, take().position, type_of(Scalar::u64));
  want("(");
  if (!at_type()) refuse("a type");
  result->integer = int64_t(type_name().bytes());
  want(")");
  return result;
}

ExpressionPtr Parser::postfix() {
  ExpressionPtr value = primary();
  for (;;) {
    const Position position = peek().position;
    if (take_if("[")) {
      ExpressionPtr index = expression();
      want("]");
      value = make_index(std::move(value), std::move(index), position);
    } else if (take_if("++")) {
      value = make_step('+', true, std::move(value), position);
    } else if (take_if("--")) {
      value = make_step('-', true, std::move(value), position);
    } else {
      return value;
    }
  }
}

ExpressionPtr Parser::primary() {
  const Token& token = peek();
  if (token.kind == TokenKind::integer || token.kind == TokenKind::floating) return number();
  if (token.is("true") || token.is("false")) {
    ExpressionPtr result = node(ExpressionKind::constant, token.position, type_of(Scalar::boolean));
    result->integer = take().is("true");
    return result;
  }
  if (take_if("(")) {
    ExpressionPtr inner = expression();
    want(")");
    return inner;
  }
  for (const char* word : {"threadIdx", "blockIdx", "blockDim", "gridDim"})
    if (token.is(word)) return special();
  if (token.kind != TokenKind::word || at_type()) refuse("an expression");
  return peek(1).is("(") ? call() : variable();
}

ExpressionPtr Parser::number() {
  const Token& token = take();
  ExpressionPtr result = node(ExpressionKind::constant, token.position, type_of(token.scalar));
  result->integer = int64_t(token.integer);
  result->floating = token.floating;
  return result;
}

ExpressionPtr Parser::special() {
  static constexpr std::array<std::string_view, 4> words = {"threadIdx", "blockIdx", "blockDim",
                                                            "gridDim"};
  ExpressionPtr result = node(ExpressionKind::special, peek().position, type_of(Scalar::u32));
  while (!peek().is(words[size_t(result->integer / 3)])) result->integer += 3;
  take();
  want(".");
  if (!peek().is("x") && !peek().is("y") && !peek().is("z")) refuse("'x', 'y' or 'z'");
  result->integer += take().text[0] - 'x';
  return result;
}

ExpressionPtr Parser::variable() {
  const Token token = peek();
  name("an expression");
  Symbol* symbol = find(token.text);
  if (!symbol)
    fail(token.position, fmt::format("found '{}', wanted a variable declared before", token.text));
  ExpressionPtr result = node(ExpressionKind::variable, token.position, symbol->type);
  result->symbol = symbol;
  return result;
}

std::vector<ExpressionPtr> Parser::arguments() {
  std::vector<ExpressionPtr> result;
  want("(");
  if (take_if(")")) return result;
  do result.push_back(decayed(assignment()));
  while (take_if(","));
  want(")");
  return result;
}

ExpressionPtr Parser::call() {
  const Token token = peek();
  const std::string called = name("a function");
  std::vector<ExpressionPtr> given = arguments();
  const auto found = by_name_.find(called);
  if (found != by_name_.end())
    return call_function(*found->second, std::move(given), token.position);
  return call_builtin(called, std::move(given), token.position);
}

ExpressionPtr Parser::call_function(const Function& function, std::vector<ExpressionPtr> given,
                                    Position position) {
  if (function.is_kernel)
    fail(position, fmt::format("found a call of the kernel '{}', wanted a __device__ function",
                               function.name));
  if (given.size() != function.parameters.size())
    fail(position, fmt::format("found {} arguments of '{}', wanted {}", given.size(), function.name,
                               function.parameters.size()));
  ExpressionPtr result = node(ExpressionKind::call, position, function.result);
  result->function = &function;
  for (size_t i = 0; i < given.size(); ++i)
    result->parts.push_back(converted(std::move(given[i]), function.parameters[i]->type));
  return result;
}

ExpressionPtr Parser::call_builtin(const std::string& called, std::vector<ExpressionPtr> given,
                                   Position position) {
  const std::vector<const Builtin*> overloads = builtins_named(called);
  if (overloads.empty())
    fail(position,
         fmt::format("found '{}', wanted a function defined before or a builtin", called));
  std::string found;
  Scalar common = Scalar::boolean;
  for (const ExpressionPtr& argument : given) {
    found += (found.empty() ? "" : ", ") + argument->type.to_string();
    common = std::max(common, argument->type.scalar);
  }
  common = common_scalar(common, common);
  const Builtin* chosen = nullptr;
  for (const Builtin* one : overloads) {
    const std::vector<Type> types = types_of(*one);
    if (types.size() != given.size() + 1) continue;
    bool fits = true;
    if (overloads.size() > 1 && one->decided_by >= 0) {
      const Type& decisive = given[size_t(one->decided_by)]->type;
      fits = decisive.scalar == types[size_t(one->decided_by) + 1].scalar;
    } else if (overloads.size() > 1) {
      fits = types[1].is(common);
    }
    // exp of a float means expf in C++: the text says which it wants.
    for (size_t i = 0; i < given.size() && overloads.size() == 1; ++i)
      fits &= !(given[i]->type.is(Scalar::f32) && types[i + 1].is(Scalar::f64));
    if (fits && !chosen) chosen = one;
  }
  if (!chosen)
    fail(position, fmt::format("found {}({}), wanted other types or another number of arguments",
                               called, found));
  const std::vector<Type> types = types_of(*chosen);
  ExpressionPtr result = node(ExpressionKind::builtin, position, types[0]);
  result->builtin = chosen;
  for (size_t i = 0; i < given.size(); ++i)
    result->parts.push_back(converted(std::move(given[i]), types[i + 1]));
  return result;
}

}  // namespace graphc::core::cuda_emulator
