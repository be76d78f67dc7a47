// SPDX-License-Identifier: Apache-2.0
#include "passes/variation.h"

#include <algorithm>

#include "ir/mutant.h"
#include "ir/op.h"

namespace graphc::core {

std::vector<Varies> variation(const Scan& scan) {
  const Graph& body = scan.body();
  std::vector<Varies> result(body.nodes().size(), Varies::nothing);
  const auto set = [&](std::span<const Value> inputs, Varies varies) {
    for (Value input : inputs) result[size_t(input.node->id)] = varies;
  };
  set(scan.body_streams(), Varies::streams);
  set(scan.body_carries(), Varies::carries);
  set(scan.body_captures(), Varies::captures);
  if (mutated(Mutant::carry_hoisted_as_invariant) && !scan.initial().empty())
    set(scan.body_carries().last(1), Varies::captures);
  for (const Node& node : body.nodes()) {
    if (node.is(ops::size)) continue;  // determined by the shape
    Varies& varies = result[size_t(node.id)];
    for (Value operand : node.operands) varies = std::max(varies, result[size_t(operand.node->id)]);
  }
  return result;
}

bool is_invariant(const std::vector<Varies>& variation, Value value) {
  return variation[size_t(value.node->id)] <= Varies::captures;
}

}  // namespace graphc::core
