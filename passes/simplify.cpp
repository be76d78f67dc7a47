// SPDX-License-Identifier: Apache-2.0
// Applies rules until none fires, in bodies first: rules as text (simplify_text.cpp), on shapes
// (simplify_shape.cpp), on values (simplify_values.cpp) and on the parts of scans
// (simplify_scan.cpp). A rule may change the rounding of a result or the sign of a zero, nothing
// more. Folded literals are at most 4 KB; splat constants and iotas stay ops.
#include "passes/simplify.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "passes/passes.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

using RulesOfOps = std::unordered_map<const Op*, std::vector<const Rule*>>;

const RulesOfOps& rules_of_ops() {
  static const RulesOfOps table = [] {
    RulesOfOps result;
    for (std::span<const Rule> rules : {shape_rules(), value_rules()}) {
      for (const Rule& rule : rules) {
        for (const Op* op : all_ops()) {
          if (rule.op == nullptr || rule.op == op) result[op].push_back(&rule);
        }
      }
    }
    return result;
  }();
  return table;
}

std::optional<Values> apply_one_rule(const Node& node, Graph& to) {
  if (std::optional<Values> values = apply_text_rules(node, to)) return values;
  const auto found = rules_of_ops().find(&node.op);
  if (found == rules_of_ops().end()) return std::nullopt;
  for (const Rule* rule : found->second) {
    std::optional<Values> values = rule->apply(node, to);
    if (!values) continue;
    for (size_t i = 0; i < values->size(); ++i) {
      GRAPHC_CHECK((*values)[i].type() == node.types[i], "rule '{}' makes {} of {}", rule->name,
                   to_string((*values)[i].type()), to_string(node.types[i]));
    }
    return values;
  }
  return std::nullopt;
}

/// Applies rules to the node, and again to their results.
std::optional<Values> apply_rules(const Node& node, const Values& operands, Graph& to) {
  const WhereScope scope(node.where);
  const size_t before = to.nodes().size();
  const Node view{node.op,      operands,   node.attributes,
                  node.regions, node.types, node.names,
                  node.where,   &to,        -1};
  std::optional<Values> values = apply_one_rule(view, to);
  while (values && values->size() == 1) {
    const Node& made = *(*values)[0].node;
    if (size_t(made.id) < before || made.results() != 1) break;
    std::optional<Values> again = apply_one_rule(made, to);
    if (!again) break;
    values = std::move(again);
  }
  return values;
}

/// Simplifies one graph without its regions; returns the same object if no rule fires and nothing
/// is dead.
GraphPtr simplify_nodes(GraphPtr graph) {
  const std::vector<bool> live = live_nodes(*graph);
  if (std::find(live.begin(), live.end(), false) != live.end()) graph = rewrite(*graph, nullptr);
  for (bool changed = true; changed;) {
    changed = false;
    const GraphPtr after =
        rewrite(*graph, [&](const Node& node, const Values& operands, Graph& to) {
          std::optional<Values> values = apply_rules(node, operands, to);
          changed |= values.has_value();
          return values;
        });
    const GraphPtr pruned = prune_scans(changed ? after : graph);
    changed |= pruned != graph;
    graph = pruned;
  }
  return graph;
}

GraphPtr run_simplify(const GraphPtr& graph, const PassOptions&, Remarks&) {
  return simplified(graph);
}

}  // namespace

GraphPtr simplified(const GraphPtr& graph) {
  // A fully simplified region is not tried again while others change.
  std::set<GraphPtr> done;
  const auto once = [&](const GraphPtr& from) {
    if (done.contains(from)) return from;
    return *done.insert(simplify_nodes(from)).first;
  };
  GraphPtr before = graph;
  while (true) {
    const GraphPtr after = once(rewrite_regions(before, once));
    if (after == before) return after;
    before = after;
  }
}

constinit const Pass passes::simplify{
    .name = "simplify",
    .summary = "applies a table of rules that make a graph smaller, also inside loops",
    .options = "",
    .run = run_simplify,
};

}  // namespace graphc::core
