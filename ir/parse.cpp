// SPDX-License-Identifier: Apache-2.0
// The outer half of the parser: modules, headers, types and attributes.
#include <algorithm>

#include "ir/parser.h"
#include "ir/text.h"
#include "ir/utf8.h"

namespace graphc::core {

Parser::Parser(std::string_view text, std::string_view file_name)
    : source_(text, file_name), tokens_(tokens_of(source_)) {
  for (const Token& token : tokens_) {
    if (token.kind == TokenKind::value) names_.insert(token.text);
  }
}

const Token& Parser::peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

Token Parser::take() {
  const Token& token = peek();
  if (token.kind != TokenKind::end) ++at_;
  return token;
}

Error Parser::unexpected(std::string_view wanted) const {
  const Token& token = peek();
  const std::string found = token.kind == TokenKind::end      ? "the end of the text"
                            : token.kind == TokenKind::value  ? "%" + token.text
                            : token.kind == TokenKind::global ? "@" + token.text
                            : token.kind == TokenKind::string ? "a string"
                                                              : "'" + token.text + "'";
  return source_.error(token, "wanted {}: found {}", wanted, found);
}

Token Parser::expect(TokenKind kind, std::string_view what) {
  if (peek().kind != kind) throw unexpected(what);
  return take();
}

void Parser::expect(char symbol) {
  if (!accept(symbol)) throw unexpected(fmt::format("'{}'", symbol));
}

bool Parser::accept(char symbol) {
  const bool found = peek().is(symbol);
  at_ += found;
  return found;
}

bool Parser::accept(std::string_view word) {
  const bool found = peek().is(word);
  at_ += found;
  return found;
}

/// Whether a `{` begins attributes rather than a block: no line of a block begins with `name =`.
bool Parser::at_attributes() const {
  const TokenKind kind = peek(1).kind;
  return peek().is('{') && (kind == TokenKind::word || kind == TokenKind::string) &&
         peek(2).is('=');
}

Where Parser::where(const Token& token) const { return where_ ? *where_ : source_.where(token); }

Module Parser::module() {
  Module module;
  module_ = &module;
  if (accept("module")) module.name = expect(TokenKind::global, "the module's name").text;
  while (peek().kind != TokenKind::end) {
    const Token start = peek();
    if (accept("state")) {
      const auto [name, type] = typed_name();
      try {
        module.declare(name.text, type, source_.where(name));
      } catch (const Error& error) {
        throw source_.marked(name, error.message());
      }
    } else if (accept("region")) {
      region();
    } else if (accept("graph")) {
      GraphPtr graph = this->graph();
      for (const GraphPtr& other : module.graphs) {
        if (other->name() == graph->name())
          throw source_.error(start, "there are two graphs @{}", graph->name());
      }
      module.graphs.push_back(std::move(graph));
    } else {
      throw unexpected("graph, region or state");
    }
  }
  return module;
}

GraphPtr Parser::body(std::span<const Type> inputs, std::string_view name, Where where) {
  where_ = where;
  Module module;
  module_ = &module;
  if (!accept("graph")) throw unexpected("graph");
  auto body = std::make_unique<Graph>(std::string(name));
  parameters(*body, inputs);
  Scope scope{body.get(), nullptr, {}, {}};
  body->set_results(block(scope, "return").results);
  if (peek().kind != TokenKind::end) throw unexpected("the end of the text");
  return freeze(std::move(body));
}

GraphPtr Parser::graph() {
  auto graph = std::make_unique<Graph>();
  const Token start = peek();
  if (peek().kind == TokenKind::global) graph->set_name(take().text);
  parameters(*graph, {});
  if (accept("state")) states(*graph, *module_);
  Scope scope{graph.get(), nullptr, {}, {}};
  BlockEnd end = block(scope, "return");
  graph->set_results(std::move(end.results));
  for (const auto& [name, value] : end.next) {
    const Value state = graph->find(name.text);
    try {
      if (!state) throw input_error({}, "next %{}: there is no such state", name.text);
      for (const Next& next : graph->next()) {
        if (next.state == state) throw input_error({}, "next %{} is assigned twice", name.text);
      }
      graph->set_next(state, value);
    } catch (const Error& error) {
      throw source_.marked(name, error.message());
    }
  }
  GraphPtr frozen = freeze(std::move(graph));
  check_depth(start, *frozen);
  return frozen;
}

void Parser::region() {
  const Token name = expect(TokenKind::global, "the region's name");
  if (regions_.contains(name.text))
    throw source_.error(name, "there are two regions @{}", name.text);
  auto region = std::make_unique<Graph>(name.text);
  parameters(*region, {});
  Scope scope{region.get(), nullptr, {}, {}};
  BlockEnd end = block(scope, "return");
  if (!end.next.empty()) throw source_.error(end.next[0].first, "a region has no states");
  region->set_results(std::move(end.results));
  GraphPtr frozen = freeze(std::move(region));
  check_depth(name, *frozen);
  regions_.emplace(name.text, std::move(frozen));
}

void Parser::check_depth(const Token& place, const Graph& graph) {
  try {
    region_depth_.check(graph);
  } catch (const Error& error) {
    throw source_.marked(place, error.message());
  }
}

/// `types` are the types of a body's parameters, which may be omitted in text; empty for other
/// graphs.
void Parser::parameters(Graph& graph, std::span<const Type> types) {
  const Token start = peek();
  expect('(');
  size_t count = 0;
  while (!peek().is(')')) {
    if (count > 0) expect(',');
    if (types.empty()) {
      const auto [name, type] = typed_name();
      if (graph.find(name.text)) throw source_.error(name, "%{} is defined twice", name.text);
      graph.input(type, name.text, where(name));
    } else {
      const Token name = expect(TokenKind::value, "a parameter");
      if (graph.find(name.text)) throw source_.error(name, "%{} is defined twice", name.text);
      if (count < types.size()) graph.input(types[count], name.text, where(name));
    }
    ++count;
  }
  expect(')');
  if (!types.empty() && count != types.size()) {
    throw source_.error(start, "takes {} operand{}: found {}", count, count == 1 ? "" : "s",
                        types.size());
  }
}

void Parser::states(Graph& graph, Module& module) {
  expect('(');
  bool first = true;
  while (!peek().is(')')) {
    if (!first) expect(',');
    first = false;
    const auto [name, type] = typed_name();
    if (graph.find(name.text)) throw source_.error(name, "%{} is defined twice", name.text);
    try {
      module.declare(name.text, type);
    } catch (const Error& error) {
      throw source_.marked(name, error.message());
    }
    graph.state(type, name.text, where(name));
  }
  expect(')');
}

std::pair<Token, Type> Parser::typed_name() {
  Token name = expect(TokenKind::value, "a name with its type, like %x: f32[2,3]");
  expect(':');
  return {std::move(name), type()};
}

Type Parser::type() {
  const Token name = expect(TokenKind::word, "a type like f32[2,3]");
  const std::optional<DType> dtype = dtype_named(name.text);
  if (!dtype) throw source_.error(name, "unknown element type '{}'", name.text);
  expect('[');
  std::vector<int64_t> extents;
  while (!peek().is(']')) {
    if (!extents.empty()) expect(',');
    extents.push_back(expect(TokenKind::integer, "an extent").integer);
    if (extents.size() > size_t(Shape::kMaxRank))
      throw source_.error(name, "a shape has at most {} extents", Shape::kMaxRank);
  }
  expect(']');
  try {
    return {*dtype, Shape(extents)};
  } catch (const Error& error) {
    throw source_.marked(name, error.message());
  }
}

std::vector<Type> Parser::types() {
  std::vector<Type> types;
  do {
    const Token start = peek();
    const Type type = this->type();
    int64_t count = 1;
    if (accept("x")) count = expect(TokenKind::integer, "how often the type stands").integer;
    if (count < 1 || count > kMaxTypes - int64_t(types.size()))
      throw source_.error(start, "a node has 1 to {} types: found {} more", kMaxTypes, count);
    types.insert(types.end(), size_t(count), type);
  } while (accept(','));
  return types;
}

Attributes Parser::attributes() {
  Attributes attributes;
  expect('{');
  bool first = true;
  while (!peek().is('}')) {
    if (!first) expect(',');
    first = false;
    const Token name = take();
    if (name.kind != TokenKind::word && name.kind != TokenKind::string) {
      --at_;
      throw unexpected("the name of an attribute");
    }
    if (attributes.find(name.text) != nullptr)
      throw source_.error(name, "attribute '{}' is given twice", name.text);
    expect('=');
    attributes.set(name.text, attribute());
  }
  expect('}');
  return attributes;
}

Attribute Parser::attribute() {
  const Token token = take();
  switch (token.kind) {
    case TokenKind::integer:
      return token.integer;
    case TokenKind::floating:
      return token.floating;
    case TokenKind::string:
      return token.text;
    case TokenKind::word:
      if (token.text == "true" || token.text == "false") return token.text == "true";
      if (const std::optional<DType> dtype = dtype_named(token.text)) return *dtype;
      break;
    case TokenKind::symbol:
      if (token.is('[')) return list();
      break;
    default:
      break;
  }
  if (token.kind != TokenKind::end) --at_;
  throw unexpected("a number, true, false, a string, an element type or a list of numbers");
}

/// After `[`: integers, or floats if at least one is written as a float. `[.]` is the empty list of
/// floats.
Attribute Parser::list() {
  std::vector<int64_t> integers;
  std::vector<double> floats;
  bool floating = accept('.');
  while (!peek().is(']')) {
    if (!floats.empty()) expect(',');
    const Token token = peek();
    if (token.kind != TokenKind::integer && token.kind != TokenKind::floating)
      throw unexpected("a number");
    take();
    floating |= token.kind == TokenKind::floating;
    integers.push_back(token.integer);
    floats.push_back(token.kind == TokenKind::floating ? token.floating : double(token.integer));
  }
  expect(']');
  if (floating) return floats;
  return integers;
}

Module parse(std::string_view text, std::string_view file_name) {
  return Parser(without_byte_order_mark(text), file_name).module();
}

GraphPtr parse_graph(std::string_view text, std::string_view file_name) {
  Module module = parse(text, file_name);
  if (module.graphs.size() != 1) {
    throw input_error({intern_file_name(file_name), 1, 1}, "wanted one graph: found {}",
                      module.graphs.size());
  }
  return module.graphs[0];
}

namespace {

bool is_parameter_character(char c) {
  return (c >= 'a' && c <= 'z') || c == '_' || c == '.' || (c >= '0' && c <= '9');
}

/// The text with every `$name` and `$name:default` replaced.
std::string substituted(std::string_view text,
                        const std::function<std::string(std::string_view)>& substitute) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t dollar = std::min(text.find('$', at), text.size());
    result += text.substr(at, dollar - at);
    if (dollar == text.size()) break;
    size_t end = dollar + 1;
    while (end < text.size() && is_parameter_character(text[end])) ++end;
    if (end < text.size() && text[end] == ':')
      while (end < text.size() && std::string_view(",)}] \n").find(text[end]) == text.npos) ++end;
    result += substitute(text.substr(dollar + 1, end - dollar - 1));
    at = end;
  }
  return result;
}

}  // namespace

GraphPtr parse_body(std::string_view text, std::span<const Type> inputs, std::string_view name,
                    const std::function<std::string(std::string_view)>& substitute, Where where) {
  const std::string full = substituted(text, substitute);
  return Parser(full, fmt::format("<{}>", name)).body(inputs, name, where);
}

}  // namespace graphc::core
