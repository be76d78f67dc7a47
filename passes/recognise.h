// SPDX-License-Identifier: Apache-2.0
// Whether a node is the result of a composite written out.
#pragma once

#include <vector>

#include "passes/match.h"

namespace graphc::core {

/// For each node (by id) the nodes that use it, and whether the graph gives it to its user.
struct Users {
  explicit Users(const Graph& graph);
  std::vector<std::vector<const Node*>> nodes;
  std::vector<bool> given;
};

/// A candidate and the composite it is, or is nearest to.
struct Recognition {
  const Op* op = nullptr;
  const Node* root = nullptr;
  int nodes = 0;  ///< of the pattern
  Match match;    ///< with a difference: it is not the composite

  bool is_whole() const { return op != nullptr && !match.difference; }
};

/// Whether the graph, whose ops are `present`, can contain the composite at all.
bool may_contain(const std::set<const Op*>& present, const Op& composite);
/// The ops of the graph and its regions.
std::set<const Op*> ops_in(const Graph& graph);
/// The ops of the nodes that can be the composite's result.
std::set<const Op*> root_ops(const Op& composite);

/// Matches the composite at the candidate. It is whole when the composite, applied to what was
/// found, has the candidate's types and body, and no node inside it is used elsewhere. `nearest`
/// goes on behind differences.
Recognition recognise(const Op& composite, const Node& candidate, const Users& users, bool nearest);

}  // namespace graphc::core
