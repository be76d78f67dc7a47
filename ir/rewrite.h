// SPDX-License-Identifier: Apache-2.0
// How every pass makes its result: copy a graph from the roots, replacing what the pass wants
// replaced.
#pragma once

#include <functional>
#include <optional>

#include "ir/graph.h"

namespace graphc::core {

/// Called for each live node but inputs and states, in order: `node` of the old graph, with its
/// operands already in the new graph. Returns the values that replace its results, or nothing to
/// have the node copied.
using RewriteNode =
    std::function<std::optional<Values>(const Node& node, const Values& operands, Graph& to)>;

/// A copy of the graph with nodes replaced. Inputs, states, their order and the graph's name are
/// kept; nodes that no result and no `next` needs are dropped; names and user lines go along.
GraphPtr rewrite(const Graph& from, const RewriteNode& replace);

/// A copy of the node in `to` with the given operands (in the order of the old ones) and, if given,
/// other regions.
const Node& copy_node(const Node& node, Values operands, Graph& to);
const Node& copy_node(const Node& node, Values operands, Graph& to, std::vector<GraphPtr> regions);

/// Adds the nodes of `body` (which has no states) to `to`, its inputs standing for `arguments`;
/// returns its results.
Values inline_graph(const Graph& body, const Values& arguments, Graph& to);
/// The same, replacing nodes on the way.
Values inline_graph(const Graph& body, const Values& arguments, Graph& to,
                    const RewriteNode& replace);

/// `graph` with every region, however deep, replaced by `change(region)`; shared regions stay
/// shared and are changed once. `change` is not applied to `graph` itself. Returns the same object
/// if nothing changed.
GraphPtr rewrite_regions(const GraphPtr& graph,
                         const std::function<GraphPtr(const GraphPtr&)>& change);

/// For each node of the graph (by id) whether a result or `next` needs it. Inputs and states always
/// count as live.
std::vector<bool> live_nodes(const Graph& graph);

/// For each node of the graph (by id) how often its results are used: by live nodes, results and
/// `next`.
std::vector<int> use_counts(const Graph& graph);

}  // namespace graphc::core
