// SPDX-License-Identifier: Apache-2.0
// Taking graphs apart: copying parts of one into another, and asking what depends on what.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/rewrite.h"

namespace graphc {

/// Values of one graph to values of another.
class ValueMap {
 public:
  explicit ValueMap(const Graph& from);
  void set(Value old, Value value);
  /// The value `old` stands for, or an absent value.
  Value find(Value old) const;
  /// The same; a defect if there is none.
  Value operator()(Value old) const;
  Values operator()(const Values& old) const;

 private:
  std::vector<Values> values_;
};

/// Adds to `to` the nodes that `wanted` (values of `from`) need, stopping at values already known;
/// what is added becomes known. Returns what stands for `wanted`. Inputs must be known.
Values copy_cone(const Graph& from, ValueMap& known, const Values& wanted, Graph& to,
                 const RewriteNode& replace = nullptr);

/// For each node (by id) whether it is in `roots` or depends on one of them.
std::vector<bool> dependents(const Graph& graph, const Values& roots);
/// For each node (by id) whether one of `roots` is its result or needs it.
std::vector<bool> needed_for(const Graph& graph, const Values& roots);
/// Whether each result of each node (by id) is used by a live node, a result or `next`.
std::vector<std::vector<int>> value_uses(const Graph& graph);

Values results_of(const Node& node);

/// Whether any node of the graph or of its regions is of the op.
bool contains(const Graph& graph, const Op& op);

}  // namespace graphc
