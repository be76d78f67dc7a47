// SPDX-License-Identifier: Apache-2.0
// The inner half of the parser: lines of a block, operands, and the regions of scans and kernels.
#include <algorithm>

#include "ir/parser.h"
#include "ir/spelling.h"

namespace graphc::core {
namespace {

/// Limits the nesting of operands and blocks, so that bad text is an error instead of a stack
/// overflow.
class Nesting {
 public:
  Nesting(int& depth, int limit, const SourceText& source, const Token& token) : depth_(depth) {
    if (depth_ >= limit)
      throw source.error(token, "nested deeper than {} operands and blocks", limit);
    ++depth_;
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;

 private:
  int& depth_;
};

}  // namespace

std::vector<std::string> texts_of(const std::vector<Token>& tokens) {
  std::vector<std::string> texts;
  for (const Token& token : tokens) texts.push_back(token.text);
  return texts;
}

Parser::BlockEnd Parser::block(Scope& scope, std::string_view last) {
  const Nesting nesting(depth_, kMaxDepth, source_, peek());
  expect('{');
  while (!peek().is('}') && !peek().is("next") && !peek().is("return") && !peek().is("emit"))
    line(scope);
  BlockEnd end = block_end(scope, last);
  if (peek().is("next"))
    throw source_.error(peek(),
                        "one 'next' stands before '{}' and has all: next %a = ..., %b = ...", last);
  expect('}');
  return end;
}

Parser::BlockEnd Parser::block_end(Scope& scope, std::string_view last) {
  BlockEnd end;
  if (accept("next")) {
    do {
      const Token name = expect(TokenKind::value, "a state or a carry");
      expect('=');
      const Value target = scope.graph->find(name.text);
      const Term term = operand(scope, Attached::own);
      end.next.emplace_back(
          name, value(scope, term, target ? std::optional(target.dtype()) : std::nullopt));
    } while (accept(','));
  }
  if (peek().is("return") || peek().is("emit")) {
    if (!accept(last)) {
      throw source_.error(peek(),
                          "the body of a scan ends with 'emit', other blocks with 'return'");
    }
    if (!peek().is('}')) {
      do {
        end.results.push_back(value(scope, operand(scope, Attached::own)));
      } while (accept(','));
    }
  }
  return end;
}

void Parser::line(Scope& scope) {
  const Token start = peek();
  std::vector<Token> names;
  if (start.kind == TokenKind::value) {
    do {
      names.push_back(expect(TokenKind::value, "a name"));
    } while (accept(','));
    expect('=');
  } else if (start.kind != TokenKind::word) {
    throw unexpected("a line like '%y = add %x, 1', 'next', 'return' or '}'");
  }
  for (size_t i = 0; i < names.size(); ++i) {
    bool taken = bool(scope.graph->find(names[i].text));
    for (size_t j = 0; j < i; ++j) taken |= names[j].text == names[i].text;
    if (taken) throw source_.error(names[i], "%{} is defined twice", names[i].text);
    if (i >= size_t(kMaxTypes)) throw source_.error(names[i], "too many names");
  }
  const Token op = peek();
  const Node& node = application(scope, names);
  if (size_t(node.results()) != names.size()) {
    throw source_.error(
        op, "{} gives {} result{}: found {} name{}{}", node.op.name, node.results(),
        node.results() == 1 ? "" : "s", names.size(), names.size() == 1 ? "" : "s",
        node.is(ops::scan) ? "; what its body emits, then the last of each carry" : "");
  }
  if (!accept(':')) return;
  const Token first = peek();
  const std::vector<Type> written = types();
  if (written.size() != node.types.size())
    throw source_.error(first, "{} types for {} results", written.size(), node.types.size());
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i] == node.types[i]) continue;
    throw source_.error(first, "%{} is {}: found {}", node.names[i], to_string(node.types[i]),
                        to_string(written[i]));
  }
}

const Node& Parser::application(Scope& scope, const std::vector<Token>& names) {
  const Token token = expect(TokenKind::word, "an op");
  const Op& op = this->op(token);
  if (&op == &ops::scan) return scan(scope, token, names);
  if (&op == &ops::kernel) return kernel(scope, token, names);
  const std::vector<Term> terms = operands(scope, token);
  Attributes attributes;
  if (at_attributes()) attributes = this->attributes();
  return add(scope, token, op, terms, std::move(attributes), texts_of(names), std::nullopt);
}

const Op& Parser::op(const Token& token) {
  const Op* op = find_op(token.text);
  if (op == nullptr) {
    const std::string_view nearest = nearest_op(token.text);
    throw source_.error(token, "unknown op '{}'{}", token.text,
                        nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
  }
  if (op == &ops::input || op == &ops::state)
    throw source_.error(token, "'{}' is written in the header of a graph, not as a line", op->name);
  return *op;
}

/// `(a, b)`, or `a, b` starting on the op's line, or nothing. Attributes at the end of a list
/// without parentheses belong to the outer op.
std::vector<Parser::Term> Parser::operands(Scope& scope, const Token& op) {
  std::vector<Term> terms;
  if (accept('(')) {
    while (!peek().is(')')) {
      if (!terms.empty()) expect(',');
      terms.push_back(operand(scope, Attached::own));
    }
    expect(')');
    return terms;
  }
  const TokenKind kind = peek().kind;
  if (peek().line != op.line || kind == TokenKind::symbol || kind == TokenKind::end) return terms;
  do {
    terms.push_back(operand(scope, Attached::outer));
  } while (accept(','));
  return terms;
}

Parser::Term Parser::operand(Scope& scope, Attached attached) {
  const Nesting nesting(depth_, kMaxDepth, source_, peek());
  Term term;
  term.token = peek();
  const TokenKind kind = term.token.kind;
  if (kind == TokenKind::value) {
    term.value = find(scope, take());
    return term;
  }
  if (kind == TokenKind::integer || kind == TokenKind::floating || peek().is("true") ||
      peek().is("false")) {
    term.number = attribute();
    return term;
  }
  if (kind != TokenKind::word) throw unexpected("a value, a number or an op");
  take();
  term.op = &op(term.token);
  if (term.op == &ops::scan || term.op == &ops::kernel)
    throw source_.error(term.token, "'{}' is a line of its own, not an operand", term.op->name);
  if (peek().is('(')) term.operands = operands(scope, term.token);
  if (at_attributes()) {
    size_t close = 0;
    while (!peek(close).is('}') && peek(close).kind != TokenKind::end) ++close;
    if (attached == Attached::own || peek(close + 1).is(',')) term.attributes = attributes();
  }
  const auto waits = [](const Term& t) { return !t.value; };
  if (!term.operands.empty() && std::all_of(term.operands.begin(), term.operands.end(), waits))
    return term;  // only numbers: the context determines their dtype
  const Node& node =
      add(scope, term.token, *term.op, term.operands, std::move(term.attributes), {}, std::nullopt);
  if (node.results() != 1) {
    throw source_.error(term.token, "an operand has one result: {} gives {}", term.op->name,
                        node.results());
  }
  term.value = node.result();
  return term;
}

Value Parser::find(const Scope& scope, const Token& name) {
  if (const Value value = scope.graph->find(name.text)) return value;
  for (const Scope* outer = scope.outer; outer != nullptr; outer = outer->outer) {
    if (!outer->graph->find(name.text)) continue;
    throw source_.error(name, "%{} is a value of a graph around this region, which must list it",
                        name.text);
  }
  std::vector<std::string_view> known;
  for (const Node& node : scope.graph->nodes()) {
    for (const std::string& other : node.names)
      if (names_.contains(other)) known.push_back(other);
  }
  const std::string_view nearest = nearest_word(name.text, known);
  throw source_.error(name, "unknown value %{}{}", name.text,
                      nearest.empty() ? "" : fmt::format("; did you mean %{}?", nearest));
}

/// The term as a value; `dtype` is the dtype of its numbers.
Value Parser::value(Scope& scope, const Term& term, std::optional<DType> dtype) {
  if (term.value) return term.value;
  if (!dtype) {
    throw source_.error(term.token,
                        "a number takes the dtype of another operand, and here is none: write "
                        "constant {{dtype = f32, shape = [], value = ...}}");
  }
  if (term.number) return number(scope, term, *dtype);
  const Node& node = add(scope, term.token, *term.op, term.operands, term.attributes, {}, dtype);
  if (node.results() != 1) {
    throw source_.error(term.token, "an operand has one result: {} gives {}", term.op->name,
                        node.results());
  }
  return node.result();
}

Value Parser::number(Scope& scope, const Term& term, DType dtype) {
  Value& known = scope.numbers[{dtype, to_string(*term.number)}];
  if (known) return known;
  Attributes attributes{{"dtype", dtype}, {"shape", std::vector<int64_t>{}}};
  attributes.set("value", *term.number);
  known = add(scope, term.token, ops::constant, Values{}, std::move(attributes), {}, {}).result();
  return known;
}

const Node& Parser::add(Scope& scope, const Token& token, const Op& op,
                        const std::vector<Term>& terms, Attributes attributes,
                        std::vector<std::string> names, std::optional<DType> context) {
  std::optional<DType> dtype;
  for (size_t i = 0; i < terms.size() && !dtype; ++i) {
    if (terms[i].value && takes_number(op, i)) dtype = terms[i].value.dtype();
  }
  if (!dtype) dtype = context;
  Values operands;
  for (size_t i = 0; i < terms.size(); ++i)
    operands.push_back(value(scope, terms[i], takes_number(op, i) ? dtype : std::nullopt));
  return add(scope, token, op, std::move(operands), std::move(attributes), {}, std::move(names));
}

const Node& Parser::add(Scope& scope, const Token& token, const Op& op, Values operands,
                        Attributes attributes, std::vector<GraphPtr> regions,
                        std::vector<std::string> names) {
  if (names.empty()) names = {fresh_name(scope, op.name)};
  try {
    return scope.graph->add(op, std::move(operands), std::move(attributes), std::move(regions),
                            where(token), std::move(names));
  } catch (const Error& error) {
    throw source_.marked(token, error.message());
  }
}

/// A name for a nested node that the text does not use.
std::string Parser::fresh_name(Scope& scope, std::string_view hint) {
  std::string name(hint);
  while (names_.contains(name) || scope.graph->find(name))
    name = fmt::format("{}.{}", hint, ++scope.suffixes[std::string(hint)]);
  return name;
}

}  // namespace graphc::core
