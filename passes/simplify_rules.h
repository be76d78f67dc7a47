// SPDX-License-Identifier: Apache-2.0
// The rules of simplify: each looks at one node and gives the values that replace its results.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ir/graph.h"
#include "ir/op.h"

namespace graphc::core {

/// A rule written as code. `node` is a view that is not in `to`, but its operands are: nodes may be
/// added to `to`. The values returned have the types of the node's results.
struct Rule {
  std::string_view name;
  const Op* op;  ///< of the nodes it looks at; null for all
  std::optional<Values> (*apply)(const Node& node, Graph& to);
};

/// A rule written as text: wherever the result of `pattern` is found, `becomes` may stand, for all
/// numbers or bool of any shape. Parameters named %c... are bool, others f32. Operands of
/// commutative ops match in either order. Both have the same derivatives too, also where there is a
/// kink: rules are applied before gradients are made.
struct TextRule {
  std::string_view name, pattern, becomes;
  bool needs_sign = false;  ///< does not hold where neg() wraps: for u32 and u8
};

std::span<const Rule> shape_rules();
std::span<const Rule> value_rules();
std::span<const TextRule> text_rules();

/// Applies the first text rule that fits.
std::optional<Values> apply_text_rules(const Node& node, Graph& to);
/// Whether the op gives the same for exchanged operands, and the same derivatives of each:
/// maximum and minimum do not, whose derivative goes to the first of two equal operands.
bool is_commutative(const Op& op);

/// Removes of each scan the streams, carries, captures and emits that nothing needs, merges equal
/// ones, takes constants into the body and makes captures of carries that never change. Returns the
/// same object if nothing changed.
GraphPtr prune_scans(const GraphPtr& graph);

/// The constant that a node of op `size` is.
Value constant_size(const Node& size, Graph& to);

}  // namespace graphc::core
