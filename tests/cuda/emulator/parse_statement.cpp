// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/cuda/emulator/parser.h"

namespace graphc::core::cuda_emulator {

StatementPtr Parser::make(StatementKind kind) const {
  StatementPtr result = std::make_unique<Statement>();
  result->kind = kind;
  result->position = peek().position;
  return result;
}

StatementPtr Parser::statement() {
  if (peek().is("{")) return block();
  if (peek().is("if")) return choice();
  if (peek().is("for")) return for_loop();
  if (peek().is("while")) return while_loop();
  if (peek().is("do")) return do_loop();
  if (peek().is("return")) return give();
  if (peek().is("asm")) return assembly();
  if (peek().is("break") || peek().is("continue")) {
    StatementPtr result = make(peek().is("break") ? StatementKind::stop : StatementKind::next);
    if (loops_ == 0) refuse("it within a loop");
    take();
    want(";");
    return result;
  }
  if (at_type() || peek().is("__shared__") || peek().is("extern"))
    refuse("a statement: a declaration stands in a block");
  StatementPtr result = make(StatementKind::expression);
  if (take_if(";")) {
    result->kind = StatementKind::block;
    return result;
  }
  result->first = expression();
  want(";");
  return result;
}

/// A function's outermost block shares the scope of its parameters.
StatementPtr Parser::block(bool own_scope) {
  StatementPtr result = make(StatementKind::block);
  want("{");
  if (own_scope) scopes_.emplace_back();
  while (!take_if("}")) {
    if (peek().kind == TokenKind::end) refuse("'}'");
    if (at_type() || peek().is("__shared__") || peek().is("extern"))
      declarations(result->body);
    else
      result->body.push_back(statement());
  }
  if (own_scope) scopes_.pop_back();
  return result;
}

StatementPtr Parser::choice() {
  StatementPtr result = make(StatementKind::choice);
  want("if");
  want("(");
  result->first = condition(expression());
  want(")");
  result->body.push_back(statement());
  result->body.push_back(take_if("else") ? statement() : nullptr);
  return result;
}

StatementPtr Parser::repeated() {
  ++loops_;
  StatementPtr result = statement();
  --loops_;
  return result;
}

StatementPtr Parser::for_loop() {
  StatementPtr result = make(StatementKind::loop);
  want("for");
  want("(");
  scopes_.emplace_back();
  StatementPtr before = make(StatementKind::block);
  if (at_type()) {
    declarations(before->body);
  } else if (!take_if(";")) {
    before->body.push_back(make(StatementKind::expression));
    before->body.back()->first = expression();
    want(";");
  }
  if (!peek().is(";")) result->first = condition(expression());
  want(";");
  if (!peek().is(")")) result->second = expression();
  want(")");
  result->body.push_back(std::move(before));
  result->body.push_back(repeated());
  scopes_.pop_back();
  return result;
}

StatementPtr Parser::while_loop() {
  StatementPtr result = make(StatementKind::loop);
  want("while");
  want("(");
  result->first = condition(expression());
  want(")");
  result->body.push_back(nullptr);
  result->body.push_back(repeated());
  return result;
}

StatementPtr Parser::do_loop() {
  StatementPtr result = make(StatementKind::do_while);
  want("do");
  result->body.push_back(repeated());
  want("while");
  want("(");
  result->first = condition(expression());
  want(")");
  want(";");
  return result;
}

StatementPtr Parser::give() {
  StatementPtr result = make(StatementKind::give);
  want("return");
  const bool nothing = !current_->result.pointer && current_->result.scalar == Scalar::nothing;
  if (!peek().is(";")) {
    if (nothing) refuse("';': the function returns void");
    result->first = converted(expression(), current_->result);
  } else if (!nothing) {
    refuse(fmt::format("a value of type {}", current_->result.to_string()));
  }
  want(";");
  return result;
}

void Parser::declarations(std::vector<StatementPtr>& into) {
  if (peek().is("extern")) return dynamic_shared();
  const bool is_shared = take_if("__shared__");
  bool is_const = false;
  const Type base = type_words(&is_const);
  do {
    StatementPtr one = declarator(base, is_const, is_shared);
    if (one) into.push_back(std::move(one));
  } while (take_if(","));
  want(";");
}

/// One variable of a declaration; null for shared memory, which nothing initialises.
StatementPtr Parser::declarator(Type base, bool is_const, bool is_shared) {
  StatementPtr result = make(StatementKind::declaration);
  Type type = pointer_to(base, &is_const);
  if (!type.pointer && type.scalar == Scalar::nothing) refuse("a type that is not void");
  const Token token = peek();
  name("the name of a variable");
  while (peek().is("[")) type.extents.push_back(extent());
  if (type.is_array() && !type.pointer) type.to_const = is_const;
  // A name is in scope within its own initialiser, but reading it there is always an error.
  Symbol* symbol = nullptr;
  if (is_shared) {
    symbol = declare(token, type);
    shared_variable(*symbol);
    if (peek().is("=")) refuse("no first value: shared memory has none");
    return nullptr;
  }
  if (take_if("=")) {
    if (type.is_array()) {
      want("{");
      want("}");
      result->zeroed = true;
    } else {
      result->first = converted(assignment(), type);
    }
  } else if (is_const) {
    refuse("the first value of a constant");
  }
  symbol = declare(token, type);
  symbol->is_const = is_const;
  symbol->in_memory = type.is_array() || !result->first;
  if (is_const && result->first && type.is_integral())
    symbol->known = known_integer(*result->first);
  result->symbol = symbol;
  return result;
}

void Parser::shared_variable(Symbol& symbol) {
  if (!current_->is_kernel) refuse("shared memory declared in kernels only");
  symbol.storage = Storage::shared;
  symbol.in_memory = true;
  // Sixteen bytes each, so that a cast to a wider type finds its alignment as under nvcc's habit.
  symbol.offset = (current_->shared_bytes + 15) / 16 * 16;
  current_->shared_bytes = symbol.offset + symbol.type.bytes();
}

void Parser::dynamic_shared() {
  want("extern");
  want("__shared__");
  // It begins at a multiple of 16.
  if (take_if("__align__")) {
    want("(");
    const std::optional<int64_t> alignment = known_integer(*conditional());
    if (!alignment || *alignment > 16) refuse("an alignment of 16 bytes at most");
    want(")");
  }
  if (!current_->is_kernel) refuse("shared memory declared in kernels only");
  bool is_const = false;
  Type type = type_words(&is_const);
  const Token token = peek();
  name("the name of the dynamic shared memory");
  want("[");
  want("]");
  want(";");
  type.pointer = true;
  Symbol* symbol = declare(token, type);
  symbol->storage = Storage::dynamic_shared;
  symbol->is_const = true;
}

}  // namespace graphc::core::cuda_emulator
