// SPDX-License-Identifier: Apache-2.0
// Inlined assembly: one instruction of PTX a statement, its operands written out.
#include <fmt/format.h>

#include <algorithm>

#include "tests/cuda/emulator/parser.h"
#include "tests/cuda/emulator/ptx.h"

namespace graphc::core::cuda_emulator {
namespace {

/// Reads the instruction in the string of an asm statement.
class PtxText {
 public:
  explicit PtxText(std::string_view text) : rest_(text) {}

  /// Empty when the text goes on as it has to.
  std::string fault() const { return fault_; }

  std::string_view name() {
    skip();
    const size_t end = std::min(rest_.find_first_of(" ;"), rest_.size());
    const std::string_view name = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return name;
  }

  void want(char symbol) {
    skip();
    if (rest_.starts_with(symbol))
      rest_.remove_prefix(1);
    else
      fail(fmt::format("'{}'", symbol));
  }

  /// The number behind a percent sign.
  int operand() {
    want('%');
    const size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (end == 0 || end > 2) return fail("the number of an operand"), 0;
    const int number = std::stoi(std::string(rest_.substr(0, end)));
    rest_.remove_prefix(end);
    return number;
  }

  void end() {
    skip();
    if (!rest_.empty()) fail("one instruction");
  }

  /// The word that comes next, if it is this one.
  void want_word(std::string_view word) {
    skip();
    if (rest_.starts_with(word))
      rest_.remove_prefix(word.size());
    else
      fail(fmt::format("'{}'", word));
  }
  bool begins_block() {
    skip();
    return rest_.starts_with('{');
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  void fail(const std::string& wanted) {
    if (fault_.empty()) fault_ = fmt::format("found '{}', wanted {}", rest_, wanted);
  }

  std::string_view rest_;
  std::string fault_;
};

void group_of(PtxText& text, const PtxGroup& group, std::vector<int>& order) {
  if (!group.literal.empty()) text.want_word(group.literal);
  if (group.in_braces) text.want('{');
  if (group.in_brackets) text.want('[');
  for (int i = 0; i < group.count; ++i) {
    if (i > 0) text.want(',');
    order.push_back(text.operand());
  }
  if (group.in_brackets) text.want(']');
  if (group.in_braces) text.want('}');
}

/// The name of the predicate of an instruction that writes one, which is written as a block:
/// { .reg .pred done; INSTRUCTION done, ...; selp.u32 %0, 1, 0, done; }
constexpr std::string_view predicate = "done";

/// The operands of the instruction, in its order.
std::vector<int> operands_of(PtxText& text, const PtxInstruction& ptx) {
  std::vector<int> order;
  bool is_first =
      ptx.result == PtxInstruction::Result::first || ptx.result == PtxInstruction::Result::none;
  if (ptx.result == PtxInstruction::Result::ignored) text.want('_');
  if (ptx.result == PtxInstruction::Result::predicate) text.want_word(predicate);
  for (const PtxGroup& group : ptx.groups) {
    if (ptx.result == PtxInstruction::Result::predicate && &group == ptx.groups.data()) continue;
    if (!is_first) text.want(',');
    is_first = false;
    group_of(text, group, order);
  }
  text.want(';');
  if (ptx.result == PtxInstruction::Result::predicate) {
    text.want_word("selp.u32");
    std::vector<int> result;
    group_of(text, ptx.groups[0], result);
    text.want_word(fmt::format(", 1, 0, {};", predicate));
    text.want('}');
    order.insert(order.begin(), result.begin(), result.end());
  }
  text.end();
  return order;
}

/// What is wrong with the operands that the instruction names; empty when nothing is.
std::string fault_of(const PtxInstruction& ptx, const std::vector<int>& order,
                     const std::vector<std::string>& constraints) {
  std::vector<char> types;
  for (const PtxGroup& group : ptx.groups)
    types.insert(types.end(), size_t(group.count), group.type);
  std::vector<int> reads(constraints.size(), 0), writes(constraints.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    if (size_t(order[i]) >= constraints.size()) return fmt::format("there is no %{}", order[i]);
    const std::string& constraint = constraints[size_t(order[i])];
    if (constraint.back() != types[i])
      return fmt::format("%{} is \"{}\", wanted \"{}\"", order[i], constraint, types[i]);
    ++(i < ptx.results() ? writes : reads)[size_t(order[i])];
  }
  for (size_t i = 0; i < constraints.size(); ++i) {
    const bool written = constraints[i].size() == 2, read = constraints[i][0] != '=';
    if (writes[i] != int(written) || (reads[i] > 0) != read)
      return fmt::format("%{} is \"{}\": it is written {} times and read {} times", i,
                         constraints[i], writes[i], reads[i]);
  }
  return {};
}

}  // namespace

StatementPtr Parser::assembly() {
  StatementPtr result = make(StatementKind::assembly);
  want("asm");
  const Position volatile_at = peek().position;
  const bool is_volatile = take_if("volatile");
  want("(");
  const Position at = peek().position;
  const std::string written = assembly_text();
  PtxText text(written);
  const bool in_block = text.begins_block();
  if (in_block) text.want_word(fmt::format("{{ .reg .pred {}; ", predicate));
  const std::string_view name = text.name();
  result->ptx = ptx_named(name, written);
  if (result->ptx == nullptr)
    fail(at, fmt::format("found the instruction '{}', wanted one of {}", name, ptx_names()));
  if (!is_volatile && !result->ptx->is_function)
    fail(volatile_at, fmt::format("found '(', wanted 'volatile' for {}", name));
  std::vector<std::string> constraints;
  for (const bool is_written : {true, false}) {
    want(":");
    const size_t written_operands = result->ptx->results();
    if (is_written ? written_operands > 0 : result->ptx->operands() > written_operands)
      assembly_operands(is_written, *result, constraints);
  }
  if (result->ptx->orders_memory) {
    want(":");
    if (peek().text != "\"memory\"") refuse("\"memory\"");
    take();
  }
  want(")");
  want(";");
  if (in_block != (result->ptx->result == PtxInstruction::Result::predicate))
    fail(at, fmt::format("{}: {}", name,
                         in_block ? "found a block, wanted one instruction"
                                  : "found no block, wanted one that declares its predicate"));
  result->order = operands_of(text, *result->ptx);
  std::string fault = text.fault();
  if (fault.empty()) fault = fault_of(*result->ptx, result->order, constraints);
  if (!fault.empty()) fail(at, fmt::format("{}: {}", name, fault));
  return result;
}

/// Strings side by side are one.
std::string Parser::assembly_text() {
  if (peek().kind != TokenKind::string) refuse("an instruction");
  std::string text;
  while (peek().kind == TokenKind::string) {
    const std::string& quoted = take().text;
    text += quoted.substr(1, quoted.size() - 2);
  }
  return text;
}

void Parser::assembly_operands(bool written, Statement& into,
                               std::vector<std::string>& constraints) {
  do {
    const Token token = take();
    const std::string constraint =
        token.kind == TokenKind::string ? token.text.substr(1, token.text.size() - 2) : "";
    const bool known = written ? constraint == "=r" || constraint == "=f" || constraint == "=l" ||
                                     constraint == "+r" || constraint == "+f"
                               : constraint == "r" || constraint == "f" || constraint == "l";
    if (!known)
      fail(token.position, fmt::format("found {}, wanted the constraint {}", token.text,
                                       written ? "\"=r\", \"=f\", \"=l\", \"+r\" or \"+f\""
                                               : "\"r\", \"f\" or \"l\""));
    want("(");
    ExpressionPtr operand = expression();
    want(")");
    if (written) want_place(*operand, true);
    const Scalar wanted = constraint.back() == 'f'   ? Scalar::f32
                          : constraint.back() == 'l' ? Scalar::u64
                                                     : Scalar::u32;
    if (!operand->type.is(wanted) && !(wanted == Scalar::u64 && operand->type.pointer))
      fail(token.position, fmt::format("found \"{}\" of type {}, wanted {}", constraint,
                                       operand->type.to_string(), spelled(wanted)));
    constraints.push_back(constraint);
    into.operands.push_back(std::move(operand));
  } while (take_if(","));
}

}  // namespace graphc::core::cuda_emulator
