// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/rank_arguments.h"

#include <algorithm>

#include "ir/scan.h"
#include "tools/commands/commands.h"
#include "tools/commands/given.h"

namespace graphc::core::commands {
namespace {

/// Whether a loop takes the input step by step.
bool is_stream(const Graph& graph, Value input) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return node.is(ops::scan) && std::ranges::count(Scan(node).streams(), input) > 0;
  });
}

std::vector<int> likely_axes(const Graph& graph) {
  std::vector<int> axes;
  for (const Value input : graph.inputs()) {
    const int axis = is_stream(graph, input) ? 1 : 0;
    axes.push_back(axis < input.shape().rank() ? axis : -1);
  }
  return axes;
}

void set_axis(const Graph& graph, const std::string& name, const std::string& text,
              std::vector<int>& axes) {
  const auto& inputs = graph.inputs();
  const auto input = std::ranges::find_if(inputs, [&](Value each) { return each.name() == name; });
  if (input == inputs.end())
    throw usage_error("--batch: graph @{} has no input '{}'", graph.name(), name);
  int& axis = axes[size_t(input - inputs.begin())];
  const int rank = input->shape().rank();
  if (text == "whole") {
    axis = -1;
  } else if (text.size() == 1 && text[0] >= '0' && text[0] - '0' < rank) {
    axis = text[0] - '0';
  } else {
    throw usage_error("--batch: %{} is {}: wanted one of its {} axes, or 'whole': found '{}'", name,
                      to_string(input->type()), rank, text);
  }
}

}  // namespace

RankOptions ranks_of(const RankArguments& arguments, const Graph& graph,
                     const std::vector<int>* axes) {
  if (arguments.rank < 0 || arguments.rank >= arguments.ranks) {
    throw usage_error("--rank: wanted one of {} ranks, from 0: found {}", arguments.ranks,
                      arguments.rank);
  }
  RankOptions ranks{.count = arguments.ranks,
                    .rank = arguments.rank,
                    .shards = arguments.shards,
                    .gradients = arguments.gradients,
                    .axes = axes != nullptr ? *axes : likely_axes(graph)};
  for (const auto& [name, axis] : assignments(arguments.batch, "--batch"))
    set_axis(graph, name, axis, ranks.axes);
  return ranks;
}

}  // namespace graphc::core::commands
