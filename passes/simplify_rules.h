// SPDX-License-Identifier: Apache-2.0
// The rules of simplify: each inspects one node and returns the values that replace its results.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ir/graph.h"
#include "ir/op.h"

namespace graphc::core {

/// A rule in code. `node` is a view that is not in `to`, but its operands are: the rule may add
/// nodes to `to`. The returned values have the types of the node's results.
struct Rule {
  std::string_view name;
  const Op* op;  ///< of the nodes to inspect; null: all
  std::optional<Values> (*apply)(const Node& node, Graph& to);
};

/// A rule as text: `becomes` may replace the result of `pattern` for all numbers or bools of any
/// shape. Parameters named %c... are bool, others f32. Operands of commutative ops match in either
/// order. Both sides have the same derivatives, also at kinks, because rules are applied before
/// gradients are taken.
struct TextRule {
  std::string_view name, pattern, becomes;
  bool needs_sign = false;  ///< invalid where neg() wraps: for u32 and u8
};

std::span<const Rule> shape_rules();
std::span<const Rule> value_rules();
std::span<const TextRule> text_rules();

/// Applies the first text rule that matches.
std::optional<Values> apply_text_rules(const Node& node, Graph& to);
/// Whether swapping the operands preserves the value and the derivatives: not for maximum and
/// minimum, whose derivative goes to the first of two equal operands.
bool is_commutative(const Op& op);

/// Removes unneeded streams, carries, captures and emits of each scan, merges equal ones, moves
/// constants into the body, and turns carries that never change into captures. Returns the same
/// object if nothing changed.
GraphPtr prune_scans(const GraphPtr& graph);

/// A scan whose counters are streams: carries of one whole number to which each step adds the same.
std::optional<Values> counters_are_streams(const Node& scan, Graph& to);

/// The constant value of a `size` node.
Value constant_size(const Node& size, Graph& to);

}  // namespace graphc::core
