// SPDX-License-Identifier: Apache-2.0
// Loop distribution: a step keeps what its carries need; the rest is computed for all steps at
// once.
//
// One product over all steps is several times faster than one per step, and a sum over steps in one
// place needs no accumulator in the loop. Elementwise work stays with its operands: moved alone, it
// would only add a store and a load. So only heavy nodes move, together with the elementwise nodes
// that are cheaper on their side of the cut.
#include "passes/hoist.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "ir/op.h"
#include "ir/scalar.h"
#include "ir/scan.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/simplify.h"
#include "passes/simplify_rules.h"
#include "passes/variation.h"

namespace graphc::core {

namespace {

/// Whether it computes an elementary function of each of several elements.
bool is_function(const Node& node) {
  return is_elementwise(node.op) && node.types[0].shape.elements() > 1 &&
         !is_exact(scalar_code(node));
}

}  // namespace

std::optional<Values> hoist_invariants(const Node& node, const Values& operands, Graph& to) {
  const Scan scan(node);
  const Graph& body = scan.body();
  const std::vector<Varies> varies = variation(scan);
  // Constants are available everywhere, and arithmetic with them is cheap; broadcasting before the
  // loop would only store more.
  std::vector<bool> stays(body.nodes().size()), is_costly(body.nodes().size());
  for (const Node& inner : body.nodes()) {
    const size_t id = size_t(inner.id);
    stays[id] = varies[id] > Varies::captures || inner.is(ops::broadcast_to);
    is_costly[id] = is_function(inner);
    for (Value operand : inner.operands) {
      stays[id] = stays[id] || stays[size_t(operand.node->id)];
      is_costly[id] = is_costly[id] || is_costly[size_t(operand.node->id)];
    }
  }
  const auto moves = [&](const Node& inner) {
    const size_t id = size_t(inner.id);
    return (varies[id] == Varies::captures || is_costly[id]) && !stays[id] && !inner.is(ops::input);
  };
  Values crossing;
  const auto cross = [&](Value value) {
    if (moves(*value.node) && std::count(crossing.begin(), crossing.end(), value) == 0)
      crossing.push_back(value);
  };
  for (const Node& inner : body.nodes()) {
    if (moves(inner)) continue;
    for (Value operand : inner.operands) cross(operand);
  }
  for (Value result : body.results()) cross(result);
  if (crossing.empty()) return std::nullopt;

  ValueMap outside(body), inside(body);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (is_invariant(varies, body.inputs()[i])) outside.set(body.inputs()[i], operands[i]);
  }
  const Values captured = copy_cone(body, outside, crossing, to);
  auto copy = std::make_unique<Graph>(body.name());
  for (Value input : body.inputs())
    inside.set(input, copy->input(input.type(), input.name(), input.node->where));
  for (Value value : crossing)
    inside.set(value, copy->input(value.type(), value.name(), value.node->where));
  copy->set_results(copy_cone(body, inside, body.results(), *copy));
  Values all = operands;
  all.insert(all.end(), captured.begin(), captured.end());
  return results_of(
      to.add(ops::scan, all, node.attributes, {freeze(std::move(copy))}, node.where, node.names));
}

namespace {

using Part =
    std::function<std::optional<Values>(const Node& node, const Values& operands, Graph& to)>;

/// Whether it is a segment of a loop: one step that a derivative computes again, so that what it
/// needs is there for that segment alone.
bool is_segment(const Node& node) {
  if (!node.is(ops::scan)) return false;
  const Scan scan(node);
  return scan.steps() == 1 && scan.save_every() > 0;
}

/// Nothing leaves segments, or the loop over them.
bool is_distributed(const Node& node) {
  return node.is(ops::scan) && !contains(node.region(), ops::grad) && !is_segment(node) &&
         std::ranges::none_of(node.region().nodes(), is_segment);
}

/// Whether a part would change the scan, wherever its operands come from.
bool changes(const Node& node, const Part& part) {
  Graph scratch;
  std::map<std::pair<const Node*, int>, Value> inputs;
  Values operands;
  for (Value operand : node.operands) {
    Value& input = inputs[{operand.node, operand.index}];
    if (!input) input = scratch.input(operand.type(), operand.name());
    operands.push_back(input);
  }
  return part(node, operands, scratch).has_value();
}

/// Applies one part to the scans of a graph; skips bodies that contain gradients.
GraphPtr apply_part(const GraphPtr& graph, const Part& part, std::string_view done,
                    Remarks& remarks) {
  // Most rounds change nothing, and copying all nodes costs more than checking the scans.
  const bool any = std::ranges::any_of(graph->nodes(), [&](const Node& node) {
    return is_distributed(node) && changes(node, part);
  });
  if (!any) return graph;
  bool changed = false;
  const GraphPtr result = rewrite(
      *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
        if (!is_distributed(node)) return std::nullopt;
        std::optional<Values> values = part(node, operands, to);
        if (values) remarks.add(node, std::string(done));
        changed |= values.has_value();
        return values;
      });
  return changed ? prune_scans(result) : graph;
}

GraphPtr hoist_scans(GraphPtr graph, bool distribute, Around around, Remarks& remarks) {
  const Part before_loop = [&](const Node& node, const Values& operands, Graph& to) {
    return hoist_before(node, operands, to, around);
  };
  const auto is_scan = [](const Node& node) { return node.is(ops::scan); };
  while (std::any_of(graph->nodes().begin(), graph->nodes().end(), is_scan)) {
    const GraphPtr before = graph;
    graph = apply_part(graph, hoist_invariants, "moved invariants out of the loop", remarks);
    graph = apply_part(graph, divide_row_sums, "sums matrices within rows first", remarks);
    // Sums over steps come first: a sum over rows moved before the loop would leave a sum over
    // steps.
    graph = apply_part(graph, hoist_after, "moved work on emits and sums after the loop", remarks);
    graph = apply_part(graph, before_loop, "moved work on streams before the loop", remarks);
    if (distribute)
      graph = apply_part(graph, split_cycles, "made a loop of each cycle of carries", remarks);
    if (graph == before) break;
  }
  return graph;
}

GraphPtr run_hoist(const GraphPtr& graph, const PassOptions& options, Remarks& remarks) {
  const bool distribute = options.get_bool("distribute", true);
  const auto hoist = [&](const GraphPtr& from, Around around) {
    return hoist_scans(from, distribute, around, remarks);
  };
  return hoist(
      rewrite_regions(graph, [&](const GraphPtr& body) { return hoist(body, Around::loop); }),
      Around::nothing);
}

}  // namespace

constinit const Pass passes::hoist{
    .name = "hoist",
    .summary = "moves out of loops what can be done for all steps at once",
    .options = "distribute",
    .run = run_hoist,
};

}  // namespace graphc::core
