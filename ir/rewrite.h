// SPDX-License-Identifier: Apache-2.0
// The common machinery of passes: copies a graph from its roots and replaces nodes on the way.
#pragma once

#include <functional>
#include <optional>

#include "ir/graph.h"

namespace graphc::core {

/// Called for each live node except inputs and states, in order: `node` of the old graph, with its
/// operands already in the new graph. Returns the values that replace its results, or nothing to
/// copy the node.
using RewriteNode =
    std::function<std::optional<Values>(const Node& node, const Values& operands, Graph& to)>;

/// A copy of the graph with nodes replaced. Keeps inputs, states, their order, the graph's name,
/// and the names and user lines of nodes; drops nodes that no result and no `next` needs.
GraphPtr rewrite(const Graph& from, const RewriteNode& replace);

/// A copy of the node in `to` with the given operands, in the order of the old ones, and optionally
/// other regions.
const Node& copy_node(const Node& node, Values operands, Graph& to);
const Node& copy_node(const Node& node, Values operands, Graph& to, std::vector<GraphPtr> regions);

/// Adds the nodes of `body`, which has no states, to `to`, substituting `arguments` for its inputs;
/// returns its results.
Values inline_graph(const Graph& body, const Values& arguments, Graph& to);
/// The same, replacing nodes on the way.
Values inline_graph(const Graph& body, const Values& arguments, Graph& to,
                    const RewriteNode& replace);

/// `graph` with every region, at any depth, replaced by `change(region)`; shared regions stay
/// shared and are changed once. `change` is not applied to `graph` itself. Returns the same object
/// if nothing changed.
GraphPtr rewrite_regions(const GraphPtr& graph,
                         const std::function<GraphPtr(const GraphPtr&)>& change);

/// For each node of the graph (by id), whether a result or `next` needs it. Inputs and states
/// always count as live.
std::vector<bool> live_nodes(const Graph& graph);

/// For each node of the graph (by id), the number of uses of its results by live nodes, results and
/// `next`.
std::vector<int> use_counts(const Graph& graph);

}  // namespace graphc::core
