// SPDX-License-Identifier: Apache-2.0
// Reads a CUDA text into functions. Each part of the grammar is a source: parse_module.cpp,
// parse_statement.cpp, parse_assembly.cpp, parse_expression.cpp; typing.cpp has C's rules of types.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/emulator/lexer.h"
#include "tests/cuda/emulator/syntax.h"

namespace graphc::core::cuda_emulator {

using Functions = std::vector<std::unique_ptr<Function>>;

class Parser {
 public:
  Parser(std::string_view text, const char* file) : file_(file), tokens_(tokens_of(text, file)) {}

  Functions functions();

 private:
  // What is common to all: parse_module.cpp.
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool take_if(std::string_view what);
  void want(std::string_view what);
  std::string name(const char* what);
  [[noreturn]] void refuse(const std::string& wanted) const;  ///< "found TOKEN, wanted ..."
  [[noreturn]] void fail(Position position, const std::string& message) const;

  // parse_module.cpp
  void function();
  unsigned launch_bounds();
  Symbol* parameter();
  bool at_type() const;
  Type type_words(bool* is_const);
  Type pointer_to(Type type, bool* is_const);
  Type type_name();  ///< in a cast or sizeof
  int64_t extent();
  Symbol* declare(const Token& name, Type type);
  Symbol* find(const std::string& name) const;

  // parse_statement.cpp
  StatementPtr statement();
  StatementPtr block(bool own_scope = true);
  StatementPtr choice();
  StatementPtr for_loop();
  StatementPtr while_loop();
  StatementPtr do_loop();
  StatementPtr give();
  StatementPtr repeated();
  void declarations(std::vector<StatementPtr>& into);
  StatementPtr declarator(Type base, bool is_const, bool is_shared);
  void dynamic_shared();
  void shared_variable(Symbol& symbol);
  StatementPtr make(StatementKind kind) const;

  // parse_assembly.cpp
  StatementPtr assembly();
  std::string assembly_text();
  void assembly_operands(bool written, Statement& into, std::vector<std::string>& constraints);

  // parse_expression.cpp
  ExpressionPtr expression();  ///< with commas
  ExpressionPtr assignment();
  ExpressionPtr conditional();
  ExpressionPtr binary(int level);
  ExpressionPtr unary();
  ExpressionPtr postfix();
  ExpressionPtr primary();
  ExpressionPtr number();
  ExpressionPtr special();
  ExpressionPtr size_of();
  ExpressionPtr variable();
  ExpressionPtr call();
  ExpressionPtr call_function(const Function& function, std::vector<ExpressionPtr> arguments,
                              Position position);
  ExpressionPtr call_builtin(const std::string& name, std::vector<ExpressionPtr> arguments,
                             Position position);
  std::vector<ExpressionPtr> arguments();

  // typing.cpp: what an operator makes of typed operands
  ExpressionPtr node(ExpressionKind kind, Position position, Type type) const;
  ExpressionPtr decayed(ExpressionPtr value) const;
  ExpressionPtr promoted(ExpressionPtr value) const;
  ExpressionPtr converted(ExpressionPtr value, const Type& to, bool by_cast = false) const;
  ExpressionPtr condition(ExpressionPtr value) const;
  ExpressionPtr make_binary(char sign, ExpressionPtr left, ExpressionPtr right,
                            Position position) const;
  ExpressionPtr make_pointer_sum(char sign, ExpressionPtr left, ExpressionPtr right,
                                 Position position) const;
  ExpressionPtr make_unary(char sign, ExpressionPtr value, Position position) const;
  ExpressionPtr make_assignment(char sign, ExpressionPtr place, ExpressionPtr value,
                                Position position) const;
  ExpressionPtr make_step(char sign, bool old_value, ExpressionPtr place, Position position) const;
  ExpressionPtr make_index(ExpressionPtr base, ExpressionPtr index, Position position) const;
  ExpressionPtr make_conditional(ExpressionPtr choice, ExpressionPtr yes, ExpressionPtr no,
                                 Position position) const;
  ExpressionPtr make_address(ExpressionPtr place, Position position) const;
  ExpressionPtr make_dereference(ExpressionPtr pointer, Position position) const;
  void want_place(const Expression& place, bool written) const;

  const char* file_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Functions functions_;
  std::map<std::string, const Function*> by_name_;
  Function* current_ = nullptr;
  std::vector<std::map<std::string, Symbol*>> scopes_;
  int loops_ = 0;  // around what is read
};

/// The type two arithmetic operands are brought to.
Scalar common_scalar(Scalar a, Scalar b);
/// The value of an expression of constant integers, if it is one.
std::optional<int64_t> known_integer(const Expression& expression);

}  // namespace graphc::core::cuda_emulator
