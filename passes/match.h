// SPDX-License-Identifier: Apache-2.0
// Matching a pattern against the nodes of a graph, from a candidate for its root backwards.
//
// Operands of commutative ops match in either order, carries and emits of a loop in any, and emits
// that nobody uses may be absent. In loops a sum is the set of its terms, wherever they are added:
// before the loop for all steps, or in each step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/pattern.h"

namespace graphc::core {

struct MatchSettings {
  bool loose = false;    ///< constants, extents and axes may differ
  bool nearest = false;  ///< goes on behind a difference, to count what else is alike
};

/// Where a graph and a pattern differ.
struct Difference {
  Value found;
  std::string text;  ///< what was wanted instead
};

struct Match {
  int matched = 0;                       ///< nodes of the pattern that were found
  std::optional<Difference> difference;  ///< the first; absent when everything was found
  std::vector<Values> operands;          ///< for each parameter the terms whose sum it is
  Values results;                        ///< for each result what it is; absent: nobody uses it
  Attributes attributes;                 ///< of the composite
  /// The nodes of the candidate's graph that the composite replaces, without the candidate.
  std::vector<const Node*> covered;
};

/// `candidate` is a node of the op of the pattern's root.
Match match(const Pattern& pattern, const Node& candidate, const MatchSettings& settings);

/// A value for messages: "%o = tanh %z".
std::string describe(Value value);

}  // namespace graphc::core
