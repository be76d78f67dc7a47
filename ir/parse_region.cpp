// SPDX-License-Identifier: Apache-2.0
// The part of the parser for lines with a region: scan and kernel.
#include <algorithm>

#include "ir/parser.h"

namespace graphc::core {

/// `%name = operand` or, in the short form, `%name` for `%name = %name`.
std::vector<Parser::Bind> Parser::binds(Scope& scope, bool short_form) {
  std::vector<Bind> binds;
  do {
    Bind bind;
    bind.name = expect(TokenKind::value, "a name");
    if (short_form && !peek().is('=')) {
      bind.term.token = bind.name;
      bind.term.value = find(scope, bind.name);
    } else {
      expect('=');
      bind.term = operand(scope, Attached::own);
    }
    binds.push_back(std::move(bind));
  } while (accept(','));
  return binds;
}

Values Parser::bound(Scope& scope, const std::vector<Bind>& binds) {
  Values values;
  for (const Bind& bind : binds) values.push_back(value(scope, bind.term));
  return values;
}

/// `@name`; its parameters must have the names bound at its use.
const GraphPtr& Parser::named_region(const std::vector<Bind>& binds) {
  const Token name = expect(TokenKind::global, "a block or the name of a region");
  const auto found = regions_.find(name.text);
  if (found == regions_.end()) throw source_.error(name, "there is no region @{}", name.text);
  const Values& inputs = found->second->inputs();
  if (inputs.size() != binds.size()) {
    throw source_.error(name, "region @{} has {} parameters: found {}", name.text, inputs.size(),
                        binds.size());
  }
  for (size_t i = 0; i < binds.size(); ++i) {
    if (inputs[i].name() == binds[i].name.text) continue;
    throw source_.error(binds[i].name, "parameter {} of region @{} is %{}: found %{}", i, name.text,
                        inputs[i].name(), binds[i].name.text);
  }
  return found->second;
}

const Node& Parser::scan(Scope& scope, const Token& token, const std::vector<Token>& names) {
  Attributes attributes;
  if (at_attributes()) {
    // A forward loop has no attribute `reverse`, so that equal loops are equal.
    for (const auto& [name, value] : this->attributes()) {
      if (name != "reverse" || value != Attribute(false)) attributes.set(name, value);
    }
  }
  for (const char* implied : {"streams", "carries"}) {
    if (attributes.find(implied) != nullptr)
      throw source_.error(token, "scan: '{}' is counted, not written", implied);
  }
  std::vector<Bind> binds;
  while (peek().kind == TokenKind::value) {
    const Token name = take();
    if (!accept("in")) throw unexpected("'in'");
    binds.push_back({name, operand(scope, Attached::own)});
    if (!accept(',')) break;
  }
  const size_t streams = binds.size();
  const auto append = [&](std::vector<Bind> more) {
    std::move(more.begin(), more.end(), std::back_inserter(binds));
  };
  if (accept("carry")) append(this->binds(scope, false));
  const size_t carries = binds.size() - streams;
  if (accept("with")) append(this->binds(scope, true));

  Values operands = bound(scope, binds);
  for (size_t i = 0; i < streams; ++i) {
    const Type& type = operands[i].type();
    if (type.shape.rank() == 0)
      throw source_.error(binds[i].name, "scan: a stream has an axis of steps: found {}",
                          to_string(type));
    if (attributes.find("steps") == nullptr) attributes.set("steps", type.shape[0]);
  }
  attributes.set("streams", int64_t(streams));
  attributes.set("carries", int64_t(carries));
  GraphPtr body = peek().is('{') ? scan_body(scope, binds, streams, carries) : named_region(binds);
  return add(scope, token, ops::scan, std::move(operands), std::move(attributes), {std::move(body)},
             texts_of(names));
}

GraphPtr Parser::scan_body(Scope& outer, const std::vector<Bind>& binds, size_t streams,
                           size_t carries) {
  auto body = std::make_unique<Graph>();
  for (size_t i = 0; i < binds.size(); ++i) {
    const Token& name = binds[i].name;
    if (body->find(name.text)) throw source_.error(name, "%{} is defined twice", name.text);
    Type type = binds[i].term.value.type();
    if (i < streams) type.shape = type.shape.without(0);
    body->input(type, name.text, where(name));
  }
  Scope scope{body.get(), &outer, {}, {}};
  const Token start = peek();
  const BlockEnd end = block(scope, "emit");
  Values results(carries);
  for (const auto& [name, value] : end.next) {
    size_t carry = 0;
    while (carry < carries && binds[streams + carry].name.text != name.text) ++carry;
    if (carry == carries)
      throw source_.error(name, "next %{}: it is not a carry of the scan", name.text);
    if (results[carry]) throw source_.error(name, "next %{} is assigned twice", name.text);
    results[carry] = value;
  }
  for (size_t i = 0; i < carries; ++i) {
    if (results[i]) continue;
    throw source_.error(start, "carry %{} has no 'next' in the body", binds[streams + i].name.text);
  }
  results.insert(results.end(), end.results.begin(), end.results.end());
  body->set_results(std::move(results));
  return freeze(std::move(body));
}

const Node& Parser::kernel(Scope& scope, const Token& token, const std::vector<Token>& names) {
  Attributes attributes;
  if (at_attributes()) attributes = this->attributes();
  std::vector<Bind> binds;
  if (accept('(')) {
    if (!peek().is(')')) binds = this->binds(scope, true);
    expect(')');
  }
  Values operands = bound(scope, binds);
  GraphPtr body;
  if (peek().is('{')) {
    auto region = std::make_unique<Graph>();
    for (size_t i = 0; i < binds.size(); ++i) {
      const Token& name = binds[i].name;
      if (region->find(name.text)) throw source_.error(name, "%{} is defined twice", name.text);
      region->input(operands[i].type(), name.text, where(name));
    }
    Scope inner{region.get(), &scope, {}, {}};
    BlockEnd end = block(inner, "return");
    if (!end.next.empty()) throw source_.error(end.next[0].first, "a region has no states");
    region->set_results(std::move(end.results));
    body = freeze(std::move(region));
  } else {
    body = named_region(binds);
  }
  return add(scope, token, ops::kernel, std::move(operands), std::move(attributes),
             {std::move(body)}, texts_of(names));
}

}  // namespace graphc::core
