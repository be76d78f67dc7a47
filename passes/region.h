// SPDX-License-Identifier: Apache-2.0
// Extraction of parts of graphs: copying into another graph, and dependence queries.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/rewrite.h"

namespace graphc::core {

/// A map from values of one graph to values of another.
class ValueMap {
 public:
  explicit ValueMap(const Graph& from);
  void set(Value old, Value value);
  /// The image of `old`, or an absent value.
  Value find(Value old) const;
  /// The same; a missing value is a defect.
  Value operator()(Value old) const;
  Values operator()(const Values& old) const;

 private:
  std::vector<Values> values_;
};

/// Distinct values in insertion order.
class ValueSet {
 public:
  ValueSet() = default;
  explicit ValueSet(const Values& values) {
    for (Value value : values) add(value);
  }
  /// Returns false if it is present already.
  bool add(Value value);
  bool contains(Value value) const { return index_.contains(value); }
  /// Its index, or size().
  size_t index(Value value) const;
  const Values& values() const { return values_; }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }

 private:
  struct Hash {
    size_t operator()(Value value) const {
      return std::hash<const Node*>()(value.node) * 31 + size_t(value.index);
    }
  };
  Values values_;
  std::unordered_map<Value, size_t, Hash> index_;
};

/// The nodes reachable from some nodes of a graph, along users or along operands, and along links
/// between the steps of a loop: if the first node of a link is marked, the second is too. Linear in
/// the graph.
class Spread {
 public:
  enum class Along : uint8_t { users, operands };
  using Links = std::vector<std::pair<const Node*, const Node*>>;
  Spread(const Graph& graph, Along along, const std::vector<const Node*>& roots,
         const Links& links);
  bool has(const Node& node) const { return marked_[size_t(node.id)]; }

 private:
  std::vector<bool> marked_;
};

/// Adds the nodes that `wanted` (values of `from`) need to `to`, stopping at known values; added
/// values become known. Returns the images of `wanted`. Inputs must be known.
Values copy_cone(const Graph& from, ValueMap& known, const Values& wanted, Graph& to,
                 const RewriteNode& replace = nullptr);

/// For each node (by id), whether it is in `roots` or depends on one of them.
std::vector<bool> dependents(const Graph& graph, const Values& roots);
/// For each node (by id), whether one of `roots` is its result or needs it.
std::vector<bool> needed_for(const Graph& graph, const Values& roots);
/// For each node (by id), whether a gradient (`grad`) goes through it.
std::vector<bool> differentiated_nodes(const Graph& graph);
/// For each result of each node (by id), the number of its uses by live nodes, results and `next`.
std::vector<std::vector<int>> value_uses(const Graph& graph);

Values results_of(const Node& node);

/// Whether any node of the graph or of its regions is of the op.
bool contains(const Graph& graph, const Op& op);

}  // namespace graphc::core
