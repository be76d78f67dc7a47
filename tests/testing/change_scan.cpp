// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/change_scan.h"

#include <algorithm>
#include <map>

#include "ir/rewrite.h"

namespace graphc::core::testing {

ScanChange all_of(const Scan& scan, const Values& operands) {
  ScanChange change;
  const size_t streams = scan.streams().size(), carries = scan.initial().size();
  for (size_t i = 0; i < operands.size(); ++i) {
    auto& role = i < streams             ? change.streams
                 : i < streams + carries ? change.carries
                                         : change.captures;
    role.push_back({i, operands[i]});
  }
  for (size_t i = 0; i < scan.emits().size(); ++i) change.emits.push_back(i);
  for (size_t i = 0; i < carries; ++i) change.next.push_back(i);
  return change;
}

const Node& add_changed(const Scan& scan, const ScanChange& change, Graph& to) {
  const Graph& old = scan.body();
  auto body = std::make_unique<Graph>(old.name());
  std::map<std::pair<const Node*, int>, Value> made;
  ScanParts parts;
  const auto bind = [&](const std::vector<BodyInput>& inputs, Values& operands) {
    for (const BodyInput& input : inputs) {
      const Value inside = old.inputs()[input.index];
      operands.push_back(input.operand);
      made[{inside.node, 0}] = body->input(inside.type(), inside.name());
    }
  };
  bind(change.streams, parts.streams);
  bind(change.carries, parts.initial);
  bind(change.captures, parts.captures);
  Values roots;
  for (size_t i : change.next) roots.push_back(scan.next()[i]);
  for (size_t i : change.emits) roots.push_back(scan.emits()[i]);
  const std::vector<bool> needed = needed_nodes(old, roots);
  const auto at = [&](Value value) { return made.at({value.node, value.index}); };
  for (const Node& node : old.nodes()) {
    if (node.is(ops::input) || !needed[size_t(node.id)]) continue;
    Values operands;
    for (Value operand : node.operands) operands.push_back(at(operand));
    const Node& copy = copy_node(node, operands, *body);
    for (int i = 0; i < copy.results(); ++i) made[{&node, i}] = copy.result(i);
  }
  Values results;
  for (Value root : roots) results.push_back(at(root));
  body->set_results(results);
  parts.body = freeze(std::move(body));
  parts.steps = scan.steps();
  parts.reverse = scan.reverse();
  return add_scan(to, std::move(parts), scan.node().where);
}

ScanChange live_part(const Scan& scan, const Values& operands, const std::vector<bool>& used) {
  ScanChange all = all_of(scan, operands), live;
  const size_t emits = scan.emits().size(), streams = scan.streams().size();
  std::vector<bool> carried(scan.initial().size()), needed;
  for (size_t i = 0; i < carried.size(); ++i) carried[i] = used[emits + i];
  for (bool more = true; more;) {
    more = false;
    Values roots;
    for (size_t i = 0; i < emits; ++i) {
      if (used[i]) roots.push_back(scan.emits()[i]);
    }
    for (size_t i = 0; i < carried.size(); ++i) {
      if (carried[i]) roots.push_back(scan.next()[i]);
    }
    needed = needed_nodes(scan.body(), roots);
    for (size_t i = 0; i < carried.size(); ++i) {
      if (carried[i] || !needed[size_t(scan.body_carries()[i].node->id)]) continue;
      carried[i] = more = true;
    }
  }
  const auto is_needed = [&](const BodyInput& input) {
    return needed[size_t(scan.body().inputs()[input.index].node->id)];
  };
  std::ranges::copy_if(all.streams, std::back_inserter(live.streams), is_needed);
  std::ranges::copy_if(all.captures, std::back_inserter(live.captures), is_needed);
  for (size_t i = 0; i < carried.size(); ++i) {
    if (!carried[i]) continue;
    live.carries.push_back({streams + i, operands[streams + i]});
    live.next.push_back(i);
  }
  for (size_t i = 0; i < emits; ++i) {
    if (used[i]) live.emits.push_back(i);
  }
  return live;
}

std::vector<bool> needed_nodes(const Graph& graph, const Values& roots) {
  std::vector<bool> needed(graph.nodes().size());
  for (Value root : roots) needed[size_t(root.node->id)] = true;
  for (size_t id = needed.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (Value operand : graph.nodes()[id].operands) needed[size_t(operand.node->id)] = true;
  }
  return needed;
}

}  // namespace graphc::core::testing
