// SPDX-License-Identifier: Apache-2.0
#include "frontend/c/retyped.h"

#include <algorithm>

#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"

namespace graphc::core {
namespace {

void check_inputs(const Graph& graph, std::span<const Type> inputs) {
  const Values& declared = graph.inputs();
  if (inputs.size() != declared.size()) {
    throw input_error({}, "graph '{}' has {} input{}: found {}", graph.name(), declared.size(),
                      declared.size() == 1 ? "" : "s", inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& type = declared[i].type();
    if (inputs[i].dtype == type.dtype && inputs[i].shape.rank() == type.shape.rank()) continue;
    throw input_error(declared[i].node->where,
                      "graph '{}': input '{}' is {}: found {}: only the extents may differ",
                      graph.name(), declared[i].name(), to_string(type), to_string(inputs[i]));
  }
}

class Retyped {
 public:
  GraphPtr operator()(const Graph& graph, std::span<const Type> inputs) {
    auto result = std::make_unique<Graph>(graph.name());
    std::vector<Values> made(graph.nodes().size());
    const auto at = [&](Value value) { return made[size_t(value.node->id)][size_t(value.index)]; };
    const auto all = [&](std::span<const Value> values) {
      Values mapped;
      for (Value value : values) mapped.push_back(at(value));
      return mapped;
    };
    size_t given = 0;
    for (const Node& node : graph.nodes()) {
      Values& values = made[size_t(node.id)];
      if (node.is(ops::input)) {
        values = {result->input(inputs[given++], node.names[0], node.where)};
      } else if (node.is(ops::state)) {
        values = {result->state(node.types[0], node.names[0], node.where)};
      } else {
        const Values operands = all(node.operands);
        const Node& copy = node.regions.empty() ? copy_node(node, operands, *result)
                                                : with_regions(node, operands, *result);
        for (int i = 0; i < copy.results(); ++i) values.push_back(copy.result(i));
      }
    }
    result->set_results(all(graph.results()));
    for (const Next& next : graph.next()) {
      const Value value = at(next.value);
      if (value.type() != next.state.type()) {
        throw input_error(next.value.node->where, "state '{}' is {}: its next value is {}",
                          next.state.name(), to_string(next.state.type()), to_string(value.type()));
      }
      result->set_next(at(next.state), value);
    }
    return freeze(std::move(result));
  }

 private:
  const Node& with_regions(const Node& node, const Values& operands, Graph& to) {
    std::vector<Type> types;
    for (Value operand : operands) types.push_back(operand.type());
    if (!node.is(ops::scan)) {
      std::vector<GraphPtr> regions;
      for (const GraphPtr& region : node.regions) regions.push_back(body(region, types));
      return copy_node(node, operands, to, std::move(regions));
    }
    const Scan scan(node);
    const size_t streams = scan.streams().size(), carries = scan.initial().size();
    for (size_t i = 0; i < streams; ++i) types[i].shape = types[i].shape.without(0);
    const auto begin = operands.begin();
    const auto initial = begin + long(streams), captures = initial + long(carries);
    return add_scan(to,
                    {.streams = Values(begin, initial),
                     .initial = Values(initial, captures),
                     .captures = Values(captures, operands.end()),
                     .body = body(node.regions[0], types),
                     .steps = streams > 0 ? operands[0].shape()[0] : scan.steps(),
                     .reverse = scan.reverse(),
                     .save_every = scan.save_every()},
                    node.where, node.names);
  }

  /// Equal regions with equal inputs stay one object.
  GraphPtr body(const GraphPtr& region, const std::vector<Type>& inputs) {
    const auto same = [&](const Body& known) {
      return known.from == region && known.inputs == inputs;
    };
    const auto found = std::ranges::find_if(bodies_, same);
    if (found != bodies_.end()) return found->made;
    GraphPtr made = (*this)(*region, inputs);
    bodies_.push_back({region, inputs, made});
    return made;
  }

  struct Body {
    GraphPtr from;
    std::vector<Type> inputs;
    GraphPtr made;
  };
  std::vector<Body> bodies_;
};

}  // namespace

GraphPtr with_inputs(const GraphPtr& graph, std::span<const Type> inputs) {
  check_inputs(*graph, inputs);
  if (std::ranges::equal(graph->inputs(), inputs, {}, [](Value v) { return v.type(); }))
    return graph;
  return Retyped()(*graph, inputs);
}

}  // namespace graphc::core
