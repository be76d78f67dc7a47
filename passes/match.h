// SPDX-License-Identifier: Apache-2.0
// Matching a pattern against the nodes of a graph, from a candidate for its root backwards.
//
// Operands of commutative ops match in either order, carries and emits of a loop in any order, and
// unused emits may be absent. In loops a sum matches as a set of terms, whether they are added
// before the loop for all steps or in each step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/pattern.h"

namespace graphc::core {

struct MatchSettings {
  bool loose = false;    ///< constants, extents and axes may differ
  bool nearest = false;  ///< continue after a difference, to count the nodes that match
};

/// A difference between a graph and a pattern.
struct Difference {
  Value found;
  std::string text;  ///< the expected value
};

struct Match {
  int matched = 0;                       ///< nodes of the pattern that were matched
  std::optional<Difference> difference;  ///< the first; empty if everything matched
  std::vector<Values> operands;          ///< for each parameter, the terms that sum to it
  Values results;                        ///< the values of the results; absent if unused
  Attributes attributes;                 ///< of the composite
  /// The nodes of the candidate's graph that the composite replaces, without the candidate.
  std::vector<const Node*> covered;
};

/// `candidate` is a node with the op of the pattern's root.
Match match(const Pattern& pattern, const Node& candidate, const MatchSettings& settings);

/// A value for messages: "%o = tanh %z".
std::string describe(Value value);

}  // namespace graphc::core
