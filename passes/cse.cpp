// SPDX-License-Identifier: Apache-2.0
// Merges equal nodes: the same op applied to the same values with equal attributes and regions, in
// bodies too. Equal regions become one object, so that copies of a loop share code. Results of
// `watch` stay distinct: each is a leaf that a gradient may refer to.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "ir/mutant.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/simplify.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

template <typename Number>
void append(std::string& key, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  key.append(bytes, sizeof number);
}

/// A key that is the same for equal nodes. Regions are compared by identity: they are merged first.
std::string key_of(const Node& node, const Values& operands) {
  std::vector<std::pair<int, int>> values;
  values.reserve(operands.size());
  for (Value operand : operands) values.emplace_back(operand.node->id, operand.index);
  if (is_commutative(node.op)) std::ranges::sort(values);
  std::string key;
  append(key, &node.op);
  append(key, values.size());
  for (const auto& [id, index] : values) {
    append(key, id);
    append(key, index);
  }
  append(key, node.regions.size());
  for (const GraphPtr& region : node.regions) append(key, region.get());
  for (const auto& [name, attribute] : node.attributes) {
    if (mutated(Mutant::cse_ignores_numbers) && name == "value") continue;
    key += fmt::format(" {}={}", name, to_string(attribute));
  }
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

/// The nodes that equal graphs have in equal number: not constants, which uses may or may not
/// share.
size_t nodes_that_count(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  return size_t(std::ranges::count_if(graph.nodes(), [&](const Node& node) {
    return live[size_t(node.id)] && !node.is(ops::constant);
  }));
}

GraphPtr run_cse(const GraphPtr& graph, const PassOptions&, Remarks&) {
  return without_repetition(graph);
}

}  // namespace

GraphPtr without_repetition(const GraphPtr& graph) {
  // Buckets by properties that equal regions share: each region is compared with few others.
  std::map<std::array<size_t, 3>, std::vector<GraphPtr>> regions;
  const auto change = [&](const GraphPtr& region) -> GraphPtr {
    const GraphPtr merged = merge_nodes(region);
    std::vector<GraphPtr>& alike =
        regions[{nodes_that_count(*merged), merged->inputs().size(), merged->results().size()}];
    for (const GraphPtr& known : alike) {
      if (known == merged || equal(*known, *merged)) return known;
    }
    alike.push_back(merged);
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

}  // namespace graphc::core
