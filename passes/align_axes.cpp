// SPDX-License-Identifier: Apache-2.0
// Gives all values of a loop's step their axes in one order: transposes, and reshapes that add or
// drop axes of extent 1, leave the loop.
//
// A step that multiplies each head by a matrix of its own transposes [batch, heads, n] to [heads,
// batch, n] and back, and a step of one head has an axis of extent 1 more than its matrix. Both
// move nothing, but a step that rearranges its values has no rows (kernels/row_model.h). Here the
// axes of all values of a step are grouped (axis_groups.h): those that an op puts side by side are
// one. Each group is either rows or columns. Every value then has all groups of rows, those first
// over which products have matrices of their own, and its columns last. Streams, carries and
// results are rearranged before and behind the loop, where that is a view.
//
// Only if the step would have no rearrangement left, and, where it has no products, only if all of
// its values have the same rows: one that carries a matrix reads vectors of fewer rows as they are
// (decision 25). A step with composites that rearrange in their bodies (argmax, one_hot) is left as
// it is, until `expand` has replaced them.
#include <algorithm>
#include <memory>
#include <utility>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/axis_groups.h"
#include "passes/kernels/row_model.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/repeated_numbers.h"
#include "passes/variation.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

/// Rearrangements of the step whose operands change from step to step.
int rearrangements(const Scan& scan) {
  const std::vector<Varies> varies = variation(scan);
  const std::vector<bool> live = live_nodes(scan.body());
  return int(std::ranges::count_if(scan.body().nodes(), [&](const Node& node) {
    return live[size_t(node.id)] && rearranges(node) && varies[size_t(node.id)] > Varies::captures;
  }));
}

bool is_composite_node(const Node& node) { return is_composite(node.op); }

Value reshaped(Value x, const Shape& shape) { return x.shape() == shape ? x : reshape(x, shape); }

/// Without axes of extent 1 behind the first `kept` ones.
Value without_units(Value x, int kept) {
  Ints extents;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    if (axis < kept || x.shape()[axis] != 1) extents.push_back(x.shape()[axis]);
  }
  return reshaped(x, Shape(extents));
}

/// One loop with its axes aligned.
class AlignedLoop {
 public:
  AlignedLoop(const Scan& scan, const AxisGroups& groups)
      : scan_(scan), groups_(groups), known_(scan.body()) {}

  Values add(const Values& operands, Graph& to) {
    ScanParts parts;
    const Values& inputs = scan_.body().inputs();
    const size_t streams = scan_.streams().size(), carries = scan_.initial().size();
    for (size_t i = 0; i < operands.size(); ++i) {
      const Value input = inputs[i];
      Values& list = i < streams             ? parts.streams
                     : i < streams + carries ? parts.initial
                                             : parts.captures;
      list.push_back(aligned(operands[i], input, i < streams ? 1 : 0));
      const Type type{input.dtype(), groups_.shape_of(input)};
      known_.set(input, body_->input(type, input.name(), input.node->where));
    }
    const std::vector<bool> live = live_nodes(scan_.body());
    for (const Node& node : scan_.body().nodes()) {
      if (live[size_t(node.id)] && !node.is(ops::input)) make(node);
    }
    Values results;
    for (const Value result : scan_.body().results()) results.push_back(known_(result));
    body_->set_results(std::move(results));
    parts.body = freeze(std::move(body_));
    parts.steps = scan_.steps();
    parts.reverse = scan_.reverse();
    parts.save_every = scan_.save_every();
    const Scan loop(add_scan(to, std::move(parts), scan_.node().where, scan_.node().names));
    Values values;
    for (size_t i = 0; i < scan_.emits().size(); ++i)
      values.push_back(as_it_was(loop.emitted(i), scan_.emits()[i], scan_.emitted(i), 1));
    for (size_t k = 0; k < carries; ++k)
      values.push_back(as_it_was(loop.final(k), scan_.next()[k], scan_.final(k), 0));
    return values;
  }

 private:
  /// What a value of the body is outside of the loop, with `steps` axes in front, rearranged.
  Value aligned(Value outside, Value inside, int steps) const {
    if (groups_.is_matrix(inside)) return reshaped(outside, groups_.shape_of(inside));
    Shape shape = groups_.shape_of(inside);
    if (steps > 0) shape = shape.insert(0, outside.shape()[0]);
    const Ints order = order_of(inside, steps);
    Shape own = shape;
    if (groups_.is_repeated(inside)) {
      for (const int row : groups_.repeats_of(inside)) own = own.with(row + steps, 1);
    }
    const Value moved =
        std::ranges::is_sorted(order) ? outside : transpose(without_units(outside, steps), order);
    return own == shape ? reshaped(moved, shape) : broadcast_to(reshaped(moved, own), shape);
  }

  /// The other way.
  Value as_it_was(Value outside, Value inside, Value wanted, int steps) const {
    if (groups_.is_repeated(inside)) {
      for (const int row : groups_.repeats_of(inside)) outside = slice(outside, row + steps, 0, 1);
    }
    const Ints order = order_of(inside, steps);
    if (std::ranges::is_sorted(order)) return reshaped(outside, wanted.shape());
    Ints back(order.size());
    for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = int64_t(i);
    return reshaped(transpose(without_units(outside, steps), back), wanted.shape());
  }

  Ints order_of(Value inside, int steps) const {
    Ints order;
    for (int i = 0; i < steps; ++i) order.push_back(i);
    for (const int axis : groups_.order_of(inside)) order.push_back(axis + steps);
    return order;
  }

  void make(const Node& node) {
    const WhereScope scope(node.where);
    Values operands;
    for (const Value operand : node.operands) operands.push_back(known_(operand));
    if (rearranges(node)) return known_.set(node.result(), operands[0]);
    Attributes attributes = node.attributes;
    const Shape shape = groups_.shape_of(node.result());
    if (node.is(ops::iota)) {
      const bool counts_all = !counts_along_axis(node);
      if (counts_all && !std::ranges::is_sorted(groups_.order_of(node.result())))
        return known_.set(node.result(), numbered(node));
      attributes.set("shape", Ints(shape.begin(), shape.end()));
      const int axis = int(node.attributes.get_int("axis", 0));
      if (!counts_all) attributes.set("axis", int64_t(groups_.place_of(node.result(), axis)));
    } else if (node.is(ops::broadcast_to) ||
               (node.is(ops::constant) && node.types[0].shape.rank() > 0)) {
      attributes.set("shape", Ints(shape.begin(), shape.end()));
    } else if (is_cut(node)) {
      attributes.set("axis", int64_t(shape.rank() - 1));
    } else if (node.is(ops::sum) || node.is(ops::max)) {
      const int rank = operands[0].shape().rank();
      attributes.set("axes", Ints{rank - 1});
      attributes.set("keep", rank > 1);
    }
    const Node& made =
        body_->add(node.op, std::move(operands), std::move(attributes), {}, node.where, node.names);
    for (int i = 0; i < node.results(); ++i) known_.set(node.result(i), made.result(i));
  }

  /// The numbers of the elements of an iota, of two long axes or more, as they were before they are
  /// rearranged.
  Value numbered(const Node& iota) {
    const Shape &old = iota.types[0].shape, shape = groups_.shape_of(iota.result());
    const DType dtype = iota.types[0].dtype;
    Value number;
    int64_t stride = 1;
    for (int axis = old.rank() - 1; axis >= 0; stride *= old[axis--]) {
      if (old[axis] == 1) continue;
      Value part = core::iota(*body_, shape, groups_.place_of(iota.result(), axis), dtype);
      if (stride > 1) part = part * stride;
      number = number ? number + part : part;
    }
    return number;
  }

  const Scan& scan_;
  const AxisGroups& groups_;
  ValueMap known_;
  std::unique_ptr<Graph> body_ = std::make_unique<Graph>(scan_.body().name());
};

GraphPtr align(const GraphPtr& graph, Remarks& remarks) {
  const auto is_candidate = [](const Node& node) {
    return node.is(ops::scan) && !contains(node.region(), ops::grad) &&
           rearrangements(Scan(node)) > 0;
  };
  if (std::ranges::none_of(graph->nodes(), is_candidate)) return graph;
  return rewrite(*graph,
                 [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
                   if (!is_candidate(node)) return std::nullopt;
                   const WhereScope scope(node.where);
                   const Scan scan(node);
                   std::string why_not;
                   const std::optional<AxisGroups> groups = AxisGroups::of(scan, &why_not);
                   if (!groups) {
                     // Without composites it is asked again, behind `expand`.
                     if (std::ranges::any_of(scan.body().nodes(), is_composite_node) ||
                         !contains(scan.body(), ops::matmul))
                       return std::nullopt;
                     remarks.add(node, "rearranges values in each step: " + why_not);
                     return std::nullopt;
                   }
                   remarks.add(node, fmt::format("moved {} rearrangements of each step out of the "
                                                 "loop: its rows are [{}]",
                                                 rearrangements(scan), to_string(groups->rows())));
                   return AlignedLoop(scan, *groups).add(operands, to);
                 });
}

GraphPtr run_align_axes(const GraphPtr& graph, const PassOptions&, Remarks& remarks) {
  const auto change = [&](const GraphPtr& from) { return align(from, remarks); };
  return change(rewrite_regions(graph, change));
}

}  // namespace

constinit const Pass passes::align_axes{
    .name = "align-axes",
    .summary = "gives the values of a step one order of axes: transposes leave the loop",
    .options = "",
    .run = run_align_axes,
};

}  // namespace graphc::core
