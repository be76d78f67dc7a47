// SPDX-License-Identifier: Apache-2.0
// Merges equal nodes: the same op applied to the same values with equal attributes and regions. In
// bodies too; equal regions become one object, so that copies of a loop share their code. Results
// of `watch` are leaves a gradient may be asked for, each its own.
#include <algorithm>
#include <unordered_map>

#include "ir/mutant.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/simplify.h"
#include "passes/simplify_rules.h"

namespace graphc {
namespace {

/// Text that equal nodes share. Regions are by identity: they are merged first.
std::string key_of(const Node& node, const Values& operands) {
  std::vector<std::string> values;
  for (Value operand : operands)
    values.push_back(fmt::format("{}.{}", operand.node->id, operand.index));
  if (is_commutative(node.op)) std::sort(values.begin(), values.end());
  std::string key(node.op.name);
  for (const std::string& value : values) key += " " + value;
  for (const auto& [name, attribute] : node.attributes) {
    if (mutated(Mutant::cse_ignores_numbers) && name == "value") continue;
    key += fmt::format(" {}={}", name, to_string(attribute));
  }
  for (const GraphPtr& region : node.regions)
    key += fmt::format(" @{}", static_cast<const void*>(region.get()));
  return key;
}

GraphPtr merge_nodes(const GraphPtr& graph) {
  std::unordered_map<std::string, Values> seen;
  bool merged = false;
  const GraphPtr result = rewrite(
      *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
        if (node.is(ops::watch)) return std::nullopt;
        Values& known = seen[key_of(node, operands)];
        merged |= !known.empty();
        if (known.empty()) known = results_of(copy_node(node, operands, to));
        return known;
      });
  return merged ? result : graph;
}

GraphPtr run_cse(const GraphPtr& graph, const PassOptions&, Remarks&) {
  return without_repetition(graph);
}

}  // namespace

GraphPtr without_repetition(const GraphPtr& graph) {
  std::vector<GraphPtr> regions;
  const auto change = [&](const GraphPtr& region) -> GraphPtr {
    const GraphPtr merged = merge_nodes(region);
    for (const GraphPtr& known : regions) {
      if (known == merged || equal(*known, *merged)) return known;
    }
    regions.push_back(merged);
    return merged;
  };
  return merge_nodes(rewrite_regions(graph, change));
}

constinit const Pass passes::cse{
    .name = "cse",
    .summary = "merges equal nodes and equal loop bodies",
    .options = "",
    .run = run_cse,
};

}  // namespace graphc
