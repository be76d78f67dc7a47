// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/history.h"

#include <algorithm>

#include "ir/op.h"

namespace graphc {
namespace {

bool is_emitted(Value value) {
  if (value.node->is(ops::scan)) return true;
  return value.node->is(ops::kernel) &&
         value.node->attributes.get_string("family", "") == "recurrent";
}

/// The history of which `value` is all but one step: without its last step, or without its first.
Value shifted(Value value, bool without_last) {
  const Node& node = *value.node;
  if (!node.is(ops::slice) || node.attributes.get_int("axis", -1) != 0) return {};
  const Value history = node.operands[0];
  const int64_t steps = history.shape()[0];
  const int64_t start = node.attributes.get_int("start", 0);
  if (value.shape()[0] != steps - 1 || start != (without_last ? 0 : 1)) return {};
  return is_emitted(history) ? history : Value{};
}

}  // namespace

std::optional<ShiftedHistory> shifted_history(const Node& kernel) {
  if (!kernel.is(ops::kernel) || kernel.operands.size() != 2) return std::nullopt;
  const Graph& body = kernel.region();
  const Node& concat = *body.results()[0].node;
  if (!concat.is(ops::concat) || body.results().size() != 1) return std::nullopt;
  if (concat.attributes.get_int("axis", -1) != 0) return std::nullopt;
  Value parts[2];
  for (size_t i = 0; i < 2; ++i) {
    const auto at = std::find(body.inputs().begin(), body.inputs().end(), concat.operands[i]);
    if (at == body.inputs().end()) return std::nullopt;
    parts[i] = kernel.operands[size_t(at - body.inputs().begin())];
  }
  if (parts[0].shape()[0] == 1) {
    if (const Value history = shifted(parts[1], true)) return {{history, parts[0], true}};
  }
  if (parts[1].shape()[0] == 1) {
    if (const Value history = shifted(parts[0], false)) return {{history, parts[1], false}};
  }
  return std::nullopt;
}

}  // namespace graphc
