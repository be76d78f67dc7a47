// SPDX-License-Identifier: Apache-2.0
#include "passes/gate_codes.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/op.h"

namespace graphc::core {
namespace {

bool is_along_last_axis(const Node& node) {
  return node.attributes.get_int("axis", 0) == node.operands[0].shape().rank() - 1;
}

/// Smaller than 1 - s for any representable sigmoid s below 1, and not denormal.
constexpr double kLeast = 1e-30;

GateCode code_of(Value value) {
  if (value.node->is(ops::sigmoid)) return GateCode::less_one;
  return value.node->is(ops::tanh) ? GateCode::argument : GateCode::plain;
}

}  // namespace

std::vector<GateCode> gate_codes_of(Value emitted) {
  Values gates{emitted};
  const Node& node = *emitted.node;
  const auto as_wide = [&](Value gate) { return gate.type() == node.operands[0].type(); };
  if (node.is(ops::concat) && is_along_last_axis(node) &&
      std::ranges::all_of(node.operands, as_wide))
    gates = node.operands;
  std::vector<GateCode> codes;
  for (Value gate : gates) codes.push_back(code_of(gate));
  const bool any = std::ranges::any_of(codes, [](GateCode c) { return c != GateCode::plain; });
  if (!any || mutated(Mutant::gates_saved_as_they_are)) codes.clear();
  return codes;
}

bool splits_gates(const Node& node, size_t gates) {
  return node.is(ops::split) && size_t(node.results()) == gates && is_along_last_axis(node);
}

Value encoded(GateCode code, Value gate, Value argument, Where where) {
  if (code == GateCode::argument) return argument;
  if (code == GateCode::plain) return gate;
  const Value near_one = apply1(ops::greater, {gate, 0.5}, {}, where);
  // Negative even for a gate of exactly 1.
  const Value lacking =
      mutated(Mutant::gates_of_one_become_zero)
          ? apply1(ops::sub, {gate, 1.0}, {}, where)
          : apply1(ops::minimum, {apply1(ops::sub, {gate, 1.0}, {}, where), -kLeast}, {}, where);
  return apply1(ops::select, {near_one, lacking, gate}, {}, where);
}

Value decoded(GateCode code, Value stored, Where where) {
  if (code == GateCode::argument) return tanh(stored, where);
  if (code == GateCode::plain) return stored;
  const Value near_one = apply1(ops::less, {stored, 0.0}, {}, where);
  return apply1(ops::select, {near_one, apply1(ops::add, {stored, 1.0}, {}, where), stored}, {},
                where);
}

}  // namespace graphc::core
