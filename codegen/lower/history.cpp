// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/history.h"

#include <algorithm>

#include "codegen/lower/context.h"
#include "codegen/step/view.h"
#include "ir/mutant.h"
#include "ir/op.h"
#include "passes/kernels/kernel.h"

namespace graphc::core {
namespace {

bool is_emitted(Value value) {
  if (value.node->is(ops::scan)) return true;
  return is_kernel_of(*value.node, Family::recurrent);
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
  if (!is_kernel_of(kernel, Family::concat) || kernel.operands.size() != 2) return std::nullopt;
  const Graph& body = kernel.region();
  const Node& concat = *body.results()[0].node;
  // A concatenation of two values may have each of them several times.
  if (concat.attributes.get_int("axis", -1) != 0 || concat.operands.size() != 2)
    return std::nullopt;
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

void find_histories(LowerContext& context, const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (const std::optional<ShiftedHistory> found = shifted_history(node))
      context.history_slots.emplace(std::pair{found->history.node, found->history.index}, *found);
  }
}

bool lower_history(LowerContext& context, const Node& kernel, ViewMap& views,
                   const ViewMap& wanted) {
  const std::optional<ShiftedHistory> found = shifted_history(kernel);
  if (!found || wanted.find(kernel.result()) != nullptr) return false;
  const auto slot = context.history_slots.find({found->history.node, found->history.index});
  const View& history = views.get(found->history);
  // Without a slot of its own where the history is a result of the graph, or the one slot is for
  // another value or at the other end.
  if (slot == context.history_slots.end()) return false;
  const bool same = mutated(Mutant::history_slot_of_another) ? slot->second.front == found->front
                                                             : slot->second == *found;
  if (!same) return false;
  const Buffer& buffer = context.plan().buffers[size_t(history.address.buffer)];
  const int64_t step = history.strides[0] * size_of(history.dtype);
  if (buffer.place != Place::arena || buffer.bytes != (history.shape[0] + 1) * step) return false;
  View view = history, initial = history;
  initial.shape = found->initial.shape();
  const int64_t steps = history.shape[0];
  initial.address = moved(history.address, found->front ? -step : steps * step);
  view.address = moved(history.address, found->front ? -step : step);
  context.copy(views.get(found->initial), initial, found->initial.name());
  views.set(kernel.result(), view);
  return true;
}

}  // namespace graphc::core
