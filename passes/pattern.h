// SPDX-License-Identifier: Apache-2.0
// Patterns: the bodies of composites, brought to the form in which the pipeline leaves a user's
// equations before `outline`.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/op.h"

namespace graphc::core {

/// An attribute a composite may have.
struct Variable {
  std::string name;
  std::string otherwise;  ///< as text, when it is absent; empty when it must be there
};

/// A body in the form of the pipeline. Its inputs are the composite's parameters; its results are
/// those of one node, the root.
struct Pattern {
  const Op* op = nullptr;
  GraphPtr body;
  /// The attributes the composite may have. Where a node of the body has an attribute of such a
  /// name, the user's node says what it is; so does a constant that stands for one.
  std::vector<Variable> variables;
  std::vector<std::pair<std::string, double>> constants;  ///< variable and what stands for it
  bool expanded = false;  ///< whether composites inside were replaced by their bodies

  const Node& root() const { return *body->results()[0].node; }
  /// Whether it is a loop: then sums match in any order, and its form is that of any extents.
  bool is_loop() const;
  /// How many nodes it has, in its loop too, without inputs, constants and the loop itself.
  int nodes() const;
};

/// What a graph must have for a pattern to be in it: known without normalising anything.
struct PatternFacts {
  std::set<const Op*> ops;  ///< that no rule replaces
  size_t carries = 0;       ///< of its loop; 0 when it has none
};

/// Whether a composite can be recognised: all its results are of one node.
bool has_pattern(const Op& op);
/// Facts of the composite, once with the composites in its body and once with their bodies.
const std::vector<PatternFacts>& facts_of(const Op& op);
/// The forms of a composite for the types of its samples. Kept: a second call is free.
const std::vector<Pattern>& patterns_of(const Op& op);
/// The form of `pattern` for other operands and attributes. Throws as the composite's `infer`.
Pattern pattern_for(const Pattern& pattern, const std::vector<Type>& operands,
                    const Attributes& attributes);

}  // namespace graphc::core
