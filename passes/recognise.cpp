// SPDX-License-Identifier: Apache-2.0
#include "passes/recognise.h"

#include <algorithm>

#include "ir/scan.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

/// The types of the composite's operands; empty if one was not found.
std::vector<Type> operand_types(const Match& match) {
  std::vector<Type> types;
  for (const Values& terms : match.operands) {
    if (terms.empty()) return {};
    types.push_back(terms[0].type());
  }
  return types;
}

void differ(Match& match, const Node& at, std::string text) {
  if (!match.difference) match.difference = Difference{at.result(), std::move(text)};
}

/// The composite, applied to the matched operands, must have the candidate's types.
void check_types(const Op& op, const Node& candidate, Match& match) {
  Graph probe;
  Values operands;
  const std::vector<Type> types = operand_types(match);
  for (size_t i = 0; i < types.size(); ++i)
    operands.push_back(probe.input(types[i], fmt::format("p{}", i)));
  const Node& node = probe.add(op, operands, match.attributes);
  std::vector<bool> given(candidate.types.size(), false);
  for (size_t i = 0; i < match.results.size(); ++i) {
    const Value result = match.results[i];
    if (!result) continue;
    given[size_t(result.index)] = true;
    if (result.type() != node.types[i])
      differ(match, candidate,
             fmt::format("%{} is {}, {} would give {}", result.name(), to_string(result.type()),
                         op.name, to_string(node.types[i])));
  }
  const auto missing = std::ranges::find(given, false);
  if (missing == given.end()) return;
  const Value result = candidate.result(int(missing - given.begin()));
  differ(match, candidate, fmt::format("{} does not give %{}", op.name, result.name()));
}

/// Values inside a composite must not be used outside.
void check_uses(const Node& candidate, const Users& users, Match& match) {
  std::set<const Node*> inside(match.covered.begin(), match.covered.end());
  inside.insert(&candidate);
  // An operand of the composite may also be one of its nodes, as in a product with itself.
  for (const Values& terms : match.operands) {
    for (Value term : terms) inside.erase(term.node);
  }
  for (const Node* node : match.covered) {
    if (!inside.contains(node)) continue;
    const auto is_inside = [&](const Node* user) { return inside.contains(user); };
    if (!users.given[size_t(node->id)] &&
        std::ranges::all_of(users.nodes[size_t(node->id)], is_inside))
      continue;
    differ(match, *node, "it is used elsewhere too");
  }
}

Match match_one(const Pattern& pattern, const Node& candidate, bool nearest) {
  const bool loop = pattern.is_loop();
  Match loose = match(pattern, candidate, {.loose = !loop, .nearest = nearest});
  if (loop || loose.difference) return loose;
  const std::vector<Type> types = operand_types(loose);
  if (types.empty()) {
    differ(loose, candidate, "an operand was not found");
    return loose;
  }
  const Pattern exact = pattern_for(pattern, types, loose.attributes);
  if (exact.root().op.name != candidate.op.name) {
    differ(loose, candidate, "wanted " + describe(exact.root().result()));
    return loose;
  }
  Match result = match(exact, candidate, {.nearest = nearest});
  result.attributes = loose.attributes;
  return result;
}

/// Matches, and records a difference unless the candidate is the whole composite.
Match match_whole(const Op& op, const Pattern& pattern, const Node& candidate, const Users& users,
                  bool nearest) {
  Match match;
  try {
    match = match_one(pattern, candidate, nearest);
    if (!match.difference) check_types(op, candidate, match);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    differ(match, candidate, error.message());
  }
  if (!match.difference) check_uses(candidate, users, match);
  return match;
}

}  // namespace

Users::Users(const Graph& graph) : nodes(graph.nodes().size()), given(graph.nodes().size()) {
  const std::vector<bool> live = live_nodes(graph);
  for (const Node& node : graph.nodes()) {
    if (!live[size_t(node.id)]) continue;
    for (Value operand : node.operands) nodes[size_t(operand.node->id)].push_back(&node);
  }
  for (Value root : graph.roots()) given[size_t(root.node->id)] = true;
}

bool may_contain(const std::set<const Op*>& present, const Op& composite) {
  return std::ranges::any_of(facts_of(composite), [&](const PatternFacts& facts) {
    return std::ranges::includes(present, facts.ops);
  });
}

std::set<const Op*> ops_in(const Graph& graph) {
  std::set<const Op*> ops;
  for (const Node& node : graph.nodes()) {
    ops.insert(&node.op);
    for (const GraphPtr& region : node.regions) ops.merge(ops_in(*region));
  }
  return ops;
}

std::set<const Op*> root_ops(const Op& composite) {
  std::set<const Op*> ops;
  for (const Pattern& pattern : patterns_of(composite)) ops.insert(&pattern.root().op);
  return ops;
}

Recognition recognise(const Op& composite, const Node& candidate, const Users& users,
                      bool nearest) {
  Recognition best;
  if (!nearest && candidate.is(ops::scan)) {
    const size_t carries = Scan(candidate).initial().size();
    const auto fits = [&](const PatternFacts& facts) { return facts.carries == carries; };
    if (std::ranges::none_of(facts_of(composite), fits)) return best;
  }
  for (const Pattern& pattern : patterns_of(composite)) {
    if (!candidate.is(pattern.root().op)) continue;
    Recognition found{&composite, &candidate, pattern.nodes(), {}};
    found.match = match_whole(composite, pattern, candidate, users, nearest);
    // Compares fractions without dividing.
    const bool better = best.op == nullptr || found.is_whole() ||
                        found.match.matched * best.nodes > best.match.matched * found.nodes;
    if (better) best = std::move(found);
    if (best.is_whole()) break;
  }
  return best;
}

}  // namespace graphc::core
