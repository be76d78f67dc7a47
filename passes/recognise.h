// SPDX-License-Identifier: Apache-2.0
// Tests whether a node is the result of a written-out composite.
#pragma once

#include <vector>

#include "passes/match.h"

namespace graphc::core {

/// For each node (by id), its users, and whether it is a result of the graph.
struct Users {
  explicit Users(const Graph& graph);
  std::vector<std::vector<const Node*>> nodes;
  std::vector<bool> given;
};

/// A candidate and the composite that it is, or is closest to.
struct Recognition {
  const Op* op = nullptr;
  const Node* root = nullptr;
  int nodes = 0;  ///< of the pattern
  Match match;    ///< with a difference if it is not the composite

  bool is_whole() const { return op != nullptr && !match.difference; }
};

/// Whether a graph with the ops `present` can contain the composite at all.
bool may_contain(const std::set<const Op*>& present, const Op& composite);
/// The ops of the graph and its regions.
std::set<const Op*> ops_in(const Graph& graph);
/// The possible ops of the composite's result node.
std::set<const Op*> root_ops(const Op& composite);

/// Matches the composite at the candidate. The match is whole if the composite, applied to the
/// matched operands, has the candidate's types and body, and no inner node is used elsewhere.
/// `nearest` continues after differences.
Recognition recognise(const Op& composite, const Node& candidate, const Users& users, bool nearest);

}  // namespace graphc::core
