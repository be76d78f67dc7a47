// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/run_directive.h"

#include <cmath>

#include "ir/lexer.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"

namespace graphc::core::testing {
namespace {

/// Parses the directive and its values from tokens.
class Reader {
 public:
  Reader(std::string_view text, const std::filesystem::path& folder)
      : source_(text, "<run>"), tokens_(tokens_of(source_)), folder_(folder) {}

  const Token& peek() const { return tokens_[at_]; }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool accept(char symbol) {
    const bool found = peek().is(symbol);
    if (found) take();
    return found;
  }
  void expect(char symbol) {
    if (!accept(symbol)) throw source_.error(peek(), "wanted '{}'", symbol);
  }
  Error error(const std::string& message) const { return source_.error(peek(), "{}", message); }
  bool at_end() const { return peek().kind == TokenKind::end; }

  Literal value(const Type& type) {
    if (peek().kind == TokenKind::global) return from_file(type);
    const Token start = peek();
    std::vector<double> elements;
    std::vector<int64_t> integers;
    elements_of(type.shape, 0, elements, integers);
    if (type.dtype == DType::i64) return Literal(std::span<const int64_t>(integers), type.shape);
    const Literal exact(std::span<const double>(elements), type.shape);
    return exact.converted(type.dtype);
  }

 private:
  void elements_of(const Shape& shape, int axis, std::vector<double>& elements,
                   std::vector<int64_t>& integers) {
    if (axis < shape.rank()) {
      expect('[');
      for (int64_t i = 0; i < shape[axis]; ++i) {
        if (i > 0) expect(',');
        elements_of(shape, axis + 1, elements, integers);
      }
      return expect(']');
    }
    const Token token = take();
    if (token.kind == TokenKind::integer) {
      elements.push_back(double(token.integer));
      integers.push_back(token.integer);
    } else if (token.kind == TokenKind::floating) {
      elements.push_back(token.floating);
      integers.push_back(std::abs(token.floating) < 0x1p63 ? int64_t(token.floating) : 0);
    } else if (token.is("true") || token.is("false")) {
      elements.push_back(token.is("true"));
      integers.push_back(token.is("true"));
    } else {
      throw source_.error(token, "wanted a number, true or false");
    }
  }

  /// `@x.npy`, or `@all.safetensors:x` (`@all.safetensors` `:` `x`).
  Literal from_file(const Type& type) {
    const Token file = take();
    const std::filesystem::path path = folder_ / file.text;
    Literal literal;
    if (accept(':')) {
      const std::string name = take().text;
      const Safetensors content = read_safetensors(path);
      const auto found = content.arrays.find(name);
      if (found == content.arrays.end())
        throw source_.error(file, "there is no array '{}' in the file", name);
      literal = found->second;
    } else {
      literal = read_npy(path);
    }
    if (literal.type() == type) return literal;
    throw source_.error(file, "the file has {}: wanted {}", to_string(literal.type()),
                        to_string(type));
  }

  SourceText source_;
  std::vector<Token> tokens_;
  const std::filesystem::path& folder_;
  size_t at_ = 0;
};

/// The first element that differs by more than `within`, or an empty string.
std::string difference(const std::string& what, const Literal& found, const Literal& wanted,
                       double within) {
  if (found.type() != wanted.type())
    return fmt::format("{} is {}: wanted {}", what, to_string(found.type()),
                       to_string(wanted.type()));
  for (int64_t i = 0; i < found.elements(); ++i) {
    const double x = found.element(i), y = wanted.element(i);
    if (x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= within) continue;
    return fmt::format("{} differs at element {}: {} for {}: found {}", what, i, x, y,
                       found.to_text());
  }
  return {};
}

using States = std::map<std::string, Literal>;

/// `; %w = VALUE, %n = VALUE`, for states of the graph.
States states_from(Reader& reader, const Graph& graph) {
  States states;
  if (!reader.accept(';')) return states;
  do {
    const Token name = reader.take();
    const Value state = graph.find(name.text);
    if (name.kind != TokenKind::value || !state || !state.node->is(ops::state))
      throw reader.error(fmt::format("'{}' is not a state of the graph", name.text));
    reader.expect('=');
    states[name.text] = reader.value(state.type());
  } while (reader.accept(','));
  return states;
}

std::vector<Literal> inputs_from(Reader& reader, const Graph& graph) {
  std::vector<Literal> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (i > 0) reader.expect(',');
    inputs.push_back(reader.value(graph.inputs()[i].type()));
  }
  return inputs;
}

std::string compare(const Graph& graph, const Evaluation& found, const std::vector<Literal>& wanted,
                    const States& wanted_next, double within) {
  if (found.results.size() != wanted.size())
    return fmt::format("{} results: wanted {}", found.results.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string name = fmt::format("result {} (%{})", i, graph.results()[i].name());
    std::string text = difference(name, found.results[i], wanted[i], within);
    if (!text.empty()) return text;
  }
  for (const auto& [name, value] : wanted_next) {
    const auto next = found.next.find(name);
    if (next == found.next.end()) return fmt::format("state %{} is not assigned", name);
    std::string text = difference("state %" + name, next->second, value, within);
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace

Literal literal_from(std::string_view text, const Type& type, const std::filesystem::path& folder) {
  Reader reader(text, folder);
  Literal literal = reader.value(type);
  if (!reader.at_end()) throw reader.error("wanted the end of the value");
  return literal;
}

std::string run_directive(std::string_view directive, const Module& module, const RunGraph& run,
                          const std::filesystem::path& folder) {
  Reader reader(directive, folder);
  if (reader.peek().kind != TokenKind::global) throw reader.error("wanted the graph, like @f(...)");
  const Graph& graph = *module.graph(reader.take().text);
  reader.expect('(');
  const std::vector<Literal> inputs = inputs_from(reader, graph);
  const States states = states_from(reader, graph);
  reader.expect(')');
  reader.expect('=');
  reader.expect('=');
  std::vector<Literal> wanted;
  for (Value result : graph.results()) {
    if (!wanted.empty()) reader.expect(',');
    wanted.push_back(reader.value(result.type()));
  }
  const States wanted_next = states_from(reader, graph);
  double within = 0;
  if (reader.peek().is("within")) {
    reader.take();
    const Token number = reader.take();
    within = number.kind == TokenKind::floating ? number.floating : double(number.integer);
    if (!(within > 0)) throw reader.error("'within' is followed by a number above 0");
  }
  if (!reader.at_end()) throw reader.error("wanted the end of the directive");
  if (wanted.empty() && wanted_next.empty())
    throw reader.error("the directive wants nothing of the graph");
  return compare(graph, run(module, graph, inputs, states), wanted, wanted_next, within);
}

}  // namespace graphc::core::testing
