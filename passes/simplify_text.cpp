// SPDX-License-Identifier: Apache-2.0
// The rules of simplify that are written as text, and their matcher.
#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/text.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

// The right side equals the left one for all numbers, up to the sign of a zero.
constexpr TextRule rules_as_text[] = {
    {"add-zero", "graph (%x) { return add(%x, 0.) }", "graph (%x) { return %x }"},
    {"sub-zero", "graph (%x) { return sub(%x, 0.) }", "graph (%x) { return %x }"},
    {"zero-sub", "graph (%x) { return sub(0., %x) }", "graph (%x) { return neg(%x) }"},
    {"mul-one", "graph (%x) { return mul(%x, 1.) }", "graph (%x) { return %x }"},
    {"mul-minus-one", "graph (%x) { return mul(%x, -1.) }", "graph (%x) { return neg(%x) }"},
    {"div-one", "graph (%x) { return div(%x, 1.) }", "graph (%x) { return %x }"},
    {"neg-neg", "graph (%x) { return neg(neg(%x)) }", "graph (%x) { return %x }"},
    {"add-neg", "graph (%x, %y) { return add(%x, neg(%y)) }",
     "graph (%x, %y) { return sub(%x, %y) }"},
    {"sub-neg", "graph (%x, %y) { return sub(%x, neg(%y)) }",
     "graph (%x, %y) { return add(%x, %y) }"},
    {"neg-sub", "graph (%x, %y) { return neg(sub(%x, %y)) }",
     "graph (%x, %y) { return sub(%y, %x) }"},
    {"mul-neg-neg", "graph (%x, %y) { return mul(neg(%x), neg(%y)) }",
     "graph (%x, %y) { return mul(%x, %y) }"},
    {"square-neg", "graph (%x) { return square(neg(%x)) }", "graph (%x) { return square(%x) }"},
    {"abs-neg", "graph (%x) { return abs(neg(%x)) }", "graph (%x) { return abs(%x) }", true},
    {"abs-abs", "graph (%x) { return abs(abs(%x)) }", "graph (%x) { return abs(%x) }"},
    {"relu-relu", "graph (%x) { return relu(relu(%x)) }", "graph (%x) { return relu(%x) }"},
    {"pow-one", "graph (%x) { return pow(%x, 1.) }", "graph (%x) { return %x }"},
    {"pow-two", "graph (%x) { return pow(%x, 2.) }", "graph (%x) { return square(%x) }"},
    {"maximum-same", "graph (%x) { return maximum(%x, %x) }", "graph (%x) { return %x }"},
    {"minimum-same", "graph (%x) { return minimum(%x, %x) }", "graph (%x) { return %x }"},
    {"not-not", "graph (%c) { return logical_not(logical_not(%c)) }", "graph (%c) { return %c }"},
    {"and-same", "graph (%c) { return logical_and(%c, %c) }", "graph (%c) { return %c }"},
    {"or-same", "graph (%c) { return logical_or(%c, %c) }", "graph (%c) { return %c }"},
    {"select-same", "graph (%c, %x) { return select(%c, %x, %x) }", "graph (%c, %x) { return %x }"},
    {"select-not", "graph (%c, %x, %y) { return select(logical_not(%c), %x, %y) }",
     "graph (%c, %x, %y) { return select(%c, %y, %x) }"},
    {"select-select", "graph (%c, %x, %y, %z) { return select(%c, select(%c, %x, %y), %z) }",
     "graph (%c, %x, %y, %z) { return select(%c, %x, %z) }"},
    {"select-select-else", "graph (%c, %x, %y, %z) { return select(%c, %x, select(%c, %y, %z)) }",
     "graph (%c, %x, %y, %z) { return select(%c, %x, %z) }"},
};

struct ParsedRule {
  GraphPtr pattern, becomes;
  bool needs_sign = false;
};

GraphPtr parse_rule(std::string_view text, std::string_view name) {
  std::vector<Type> types;
  const std::string_view header = text.substr(0, text.find(')'));
  for (size_t i = header.find('%'); i != std::string_view::npos; i = header.find('%', i + 1))
    types.push_back({header[i + 1] == 'c' ? DType::boolean : DType::f32, {}});
  return parse_body(text, types, name, nullptr);
}

using ParsedRules = std::map<std::string_view, std::vector<ParsedRule>>;

/// By the name of the op of the pattern's result.
const ParsedRules& parsed_rules() {
  static const ParsedRules parsed = [] {
    ParsedRules result;
    for (const TextRule& rule : rules_as_text) {
      ParsedRule both{parse_rule(rule.pattern, rule.name), parse_rule(rule.becomes, rule.name),
                      rule.needs_sign};
      result[both.pattern->results()[0].node->op.name].push_back(std::move(both));
    }
    return result;
  }();
  return parsed;
}

/// The values bound to the parameters of a pattern, by the parameter's node id.
using Bindings = std::map<int, Value>;

bool match_operands(const Node& pattern, const Values& actual, Bindings& bindings);

bool match(Value pattern, Value actual, Bindings& bindings) {
  if (pattern.node->is(ops::input)) {
    const auto [bound, fresh] = bindings.emplace(pattern.node->id, actual);
    return fresh || bound->second == actual;
  }
  if (pattern.node->is(ops::constant)) return is_splat(actual, *splat_value(pattern));
  if (!actual.node->is(pattern.node->op) || pattern.index != actual.index) return false;
  return match_operands(*pattern.node, actual.node->operands, bindings);
}

bool match_in_order(const Values& pattern, const Values& actual, Bindings& bindings) {
  Bindings tried = bindings;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (!match(pattern[i], actual[i], tried)) return false;
  }
  bindings = std::move(tried);
  return true;
}

bool match_operands(const Node& pattern, const Values& actual, Bindings& bindings) {
  if (pattern.operands.size() != actual.size()) return false;
  if (match_in_order(pattern.operands, actual, bindings)) return true;
  if (!is_commutative(pattern.op)) return false;
  return match_in_order(pattern.operands, {actual[1], actual[0]}, bindings);
}

Value build(Value pattern, const Bindings& bindings, DType dtype, Graph& to) {
  const Node& node = *pattern.node;
  if (node.is(ops::input)) return bindings.at(node.id);
  if (node.is(ops::constant)) return scalar_constant(to, *splat_value(pattern), dtype);
  Values operands;
  for (Value operand : node.operands) operands.push_back(build(operand, bindings, dtype, to));
  std::vector<Operand> converted(operands.begin(), operands.end());
  return apply(node.op, std::move(converted), node.attributes).result(pattern.index);
}

}  // namespace

std::span<const TextRule> text_rules() { return rules_as_text; }

bool is_commutative(const Op& op) {
  constexpr const Op* commutative[] = {&ops::add,        &ops::mul,        &ops::equal,
                                       &ops::not_equal,  &ops::logical_or, &ops::logical_and,
                                       &ops::logical_xor};
  return std::find(std::begin(commutative), std::end(commutative), &op) != std::end(commutative);
}

std::optional<Values> apply_text_rules(const Node& node, Graph& to) {
  const auto rules = parsed_rules().find(node.op.name);
  if (rules == parsed_rules().end()) return std::nullopt;
  const DType dtype = node.types[0].dtype;
  for (const ParsedRule& rule : rules->second) {
    if (rule.needs_sign && (dtype == DType::u32 || dtype == DType::u8)) continue;
    Bindings bindings;
    if (!match_operands(*rule.pattern->results()[0].node, node.operands, bindings)) continue;
    // Checks that bound parameters have the dtype and number of elements of the result.
    const Type& type = node.types[0];
    Bindings same;
    for (size_t i = 0; i < rule.pattern->inputs().size(); ++i) {
      const auto bound = bindings.find(rule.pattern->inputs()[i].node->id);
      if (bound != bindings.end()) same[rule.becomes->inputs()[i].node->id] = bound->second;
    }
    const Value value = build(rule.becomes->results()[0], same, type.dtype, to);
    return Values{broadcast_to(value, type.shape)};
  }
  return std::nullopt;
}

}  // namespace graphc::core
