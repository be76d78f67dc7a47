// SPDX-License-Identifier: Apache-2.0
#include "frontend/dependence.h"

#include <algorithm>

#include "frontend/trace.h"

namespace graphc::core {
namespace {

bool is_left_out(const StateCell& cell, const Params& params) {
  return std::ranges::any_of(params.taken()->without, [&](const std::string& whole) {
    return is_part_of(cell.name, whole);
  });
}

}  // namespace

std::unordered_set<const Node*> differentiable_from(Value loss) {
  std::unordered_set<const Node*> reached;
  std::vector<const Node*> open{loss.node};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!reached.insert(node).second || node->is(ops::stop_gradient)) continue;
    for (Value operand : node->operands) {
      if (is_floating(operand.dtype())) open.push_back(operand.node);
    }
  }
  return reached;
}

void expect_values_of_before(Value loss, Where where) {
  Trace& trace = Trace::require("gradients", where);
  if (trace.new_values().empty()) return;
  const std::unordered_set<const Node*> reached = differentiable_from(loss);
  for (const auto& [node, cell] : trace.new_values()) {
    if (!reached.contains(node)) continue;
    Error error = input_error(
        where,
        "the loss reads the value that graph '{}' has given parameter '{}': a gradient is by the "
        "value before, and would go through what made the new one. Compute the loss before the "
        "parameter is assigned, or make the second step a graph of its own",
        trace.root().name(), cell->name);
    if (const Scope::Seen* seen = trace.assigned(*cell); seen != nullptr && seen->assigned_at) {
      error.note(fmt::format("'{}' is assigned at {}:{}", cell->name, seen->assigned_at.file,
                             seen->assigned_at.line));
    }
    throw error;
  }
}

void expect_none_declared_later(Value loss, const Params& params, Where where) {
  if (!params.taken()) return;
  Trace& trace = Trace::require("minimize", where);
  const std::unordered_set<const Node*> reached = differentiable_from(loss);
  for (const std::shared_ptr<StateCell>& cell : trace.states_of_model()) {
    const bool is_later = cell->parameter && cell->order >= params.taken()->declared;
    if (!is_later || is_left_out(*cell, params) || !reached.contains(trace.leaf(cell).node))
      continue;
    const auto is_cell = [&](const Param& param) { return param.cell() == cell; };
    if (std::ranges::any_of(params, is_cell)) continue;
    std::string text = fmt::format(
        "the loss depends on parameter '{}', which was declared after params() was called and is "
        "not among them",
        cell->name);
    if (params.taken()->trace == trace.id()) {
      throw input_error(where, "{}: call params() when all are declared", text)
          .note(fmt::format("'{}' is declared at {}:{}", cell->name, cell->where.file,
                            cell->where.line));
    }
    trace.remark(where, text + ": it is not trained");
  }
}

}  // namespace graphc::core
