// SPDX-License-Identifier: Apache-2.0
// Patterns: the bodies of composites, normalised like a user's equations before `outline`.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/op.h"

namespace graphc::core {

/// An optional or required attribute of a composite.
struct Variable {
  std::string name;
  std::string otherwise;  ///< default as text; empty if required
};

/// A normalised body. Its inputs are the composite's parameters; its results are those of one node,
/// the root.
struct Pattern {
  const Op* op = nullptr;
  GraphPtr body;
  /// The attributes of the composite. An attribute with that name on a node of the body, or a
  /// constant that stands for it, takes its value from the user's node.
  std::vector<Variable> variables;
  std::vector<std::pair<std::string, double>> constants;  ///< with the variable each stands for
  bool expanded = false;  ///< whether inner composites were replaced by their bodies

  const Node& root() const { return *body->results()[0].node; }
  /// Whether it is a loop. Then sums match in any order, and the pattern holds for any extents.
  bool is_loop() const;
  /// The number of nodes, including those in its loop, without inputs, constants and the loop
  /// itself.
  int nodes() const;
};

/// Necessary conditions for a pattern to occur in a graph, checked without normalising anything.
struct PatternFacts {
  std::set<const Op*> ops;  ///< that no rule replaces
  size_t carries = 0;       ///< of its loop; 0 if it has none
};

/// Whether a composite can be recognised: all its results come from one node.
bool has_pattern(const Op& op);
/// The facts of the composite, once with the composites in its body and once with their bodies.
const std::vector<PatternFacts>& facts_of(const Op& op);
/// The patterns of a composite for the types of its samples; cached.
const std::vector<Pattern>& patterns_of(const Op& op);
/// `pattern` for other operands and attributes. Throws as the composite's `infer` does.
Pattern pattern_for(const Pattern& pattern, const std::vector<Type>& operands,
                    const Attributes& attributes);

}  // namespace graphc::core
