// SPDX-License-Identifier: Apache-2.0
// Divides the axes of a loop's step where its reshapes do: they leave the loop.
//
// A step that holds heads side by side in a vector, [batch, heads * n], makes [batch, heads, n] of
// it before a product with a matrix of each head, and a vector of it behind. Gates may come as one
// vector [batch, gates * n], as [batch, gates, n] or as [batch, n, gates]. Such reshapes copy
// nothing, but a step that has them has no rows (kernels/row_model.h), and nothing that is divided
// can be put in order (align_axes.cpp). Here every axis is divided once for the whole step
// (axis_parts.h), streams, carries and results are reshaped before and behind the loop, and where
// the step takes single elements along a part, such as one gate, each element is a value of its
// own. A matrix whose product makes the elements gets its columns in their order before the loop.
//
// Only if the step can then have one order of axes.
#include <map>
#include <optional>
#include <utility>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/axis_groups.h"
#include "passes/axis_parts.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/split_loop.h"

namespace graphc::core {
namespace {

/// Why the step of the only loop of the graph cannot have one order of axes (align_axes.cpp); empty
/// if it can. Composites are replaced by their bodies before align-axes asks for the last time.
std::string fault_of(const GraphPtr& split) {
  Remarks remarks;
  const GraphPtr expanded =
      passes::simplify.run(passes::expand.run(split, {}, remarks), {}, remarks);
  std::string why_not;
  for (const Node& node : expanded->nodes()) {
    if (node.is(ops::scan)) AxisGroups::of(Scan(node), &why_not);
  }
  return why_not;
}

/// The loop alone, with its axes divided; nothing if that changes nothing, or leaves no order.
GraphPtr divided_loop(const Node& node, Remarks& remarks) {
  const auto has = [&](const Op& op) { return contains(node.region(), op); };
  if (!node.is(ops::scan) || has(ops::grad) ||
      !(has(ops::reshape) || has(ops::slice) || has(ops::split)))
    return nullptr;
  const WhereScope scope(node.where);
  const Scan scan(node);
  std::string why_not;
  const std::optional<AxisParts> parts = AxisParts::of(scan, &why_not);
  if (parts && !parts->divides()) return nullptr;
  GraphPtr loop;
  if (parts) {
    // Without the elements that the step does not read.
    Remarks none;
    loop = passes::simplify.run(split_loop(scan, *parts), {}, none);
    why_not = fault_of(loop);
  }
  if (why_not.empty()) {
    remarks.add(node, "divides the axes of each step: its reshapes leave the loop");
    return loop;
  }
  if (has(ops::matmul)) remarks.add(node, "keeps its axes in each step: " + why_not);
  return nullptr;
}

GraphPtr split_graph(const GraphPtr& graph, Remarks& remarks) {
  std::map<const Node*, GraphPtr> loops;
  for (const Node& node : graph->nodes()) {
    if (GraphPtr loop = divided_loop(node, remarks)) loops[&node] = std::move(loop);
  }
  if (loops.empty()) return graph;
  return rewrite(*graph,
                 [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
                   const auto loop = loops.find(&node);
                   if (loop == loops.end()) return std::nullopt;
                   const WhereScope scope(node.where);
                   return inline_graph(*loop->second, operands, to);
                 });
}

GraphPtr run_split_axes(const GraphPtr& graph, const PassOptions&, Remarks& remarks) {
  const auto change = [&](const GraphPtr& from) { return split_graph(from, remarks); };
  return change(rewrite_regions(graph, change));
}

}  // namespace

constinit const Pass passes::split_axes{
    .name = "split-axes",
    .summary = "divides the axes of a step as its reshapes do, which leave the loop",
    .options = "",
    .run = run_split_axes,
};

}  // namespace graphc::core
