// SPDX-License-Identifier: Apache-2.0
#include "passes/narrow.h"

#include <algorithm>

#include "ir/mutant.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/kernels/fuse.h"
#include "passes/kernels/row_model.h"
#include "passes/region.h"

namespace graphc {
namespace {

/// A sum over the rows of a matrix: what the pass reductions makes of one over the leading axes.
bool sums_over_rows(const Node& node) {
  return node.is(ops::sum) && node.operands[0].shape().rank() == 2 &&
         node.attributes.get_ints("axes") == std::vector<int64_t>{0};
}

/// Whether the kernel that computes the node can round it on the way to memory.
bool stores_what_it_computes(const Node& node) {
  return is_elementwise(node.op) || is_concat_of_units(node) ||
         (node.is(ops::matmul) && !is_batched_product(node));
}

bool flagged(const std::vector<bool>& flags, size_t i) { return i < flags.size() && flags[i]; }

}  // namespace

bool moves_whole(const Node& node) { return is_view(node) || node.is(ops::concat); }

bool multiplies(const Node& node) { return node.is(ops::matmul); }

NarrowValues::NarrowValues(const Graph& graph, const std::vector<bool>& inputs,
                           const std::vector<bool>& results) {
  for (const Node& node : graph.nodes()) flags_.emplace_back(node.types.size());
  const Values roots = graph.roots();
  for (size_t i = 0; i < roots.size(); ++i) {
    Flags& flags = flags_of(roots[i]);
    flags.read = true;
    (flagged(results, i) ? flags.beside_products : flags.elsewhere) = true;
  }
  note_readers(graph);
  const bool is_body = !inputs.empty();
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    Flags& flags = flags_of(graph.inputs()[i]);
    flags.narrow = flagged(inputs, i);
    flags.computed = is_body;
  }
  for (const Node& node : graph.nodes()) classify(node);
}

void NarrowValues::note_readers(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (!live[size_t(node->id)]) continue;
    for (size_t i = 0; i < node->operands.size(); ++i) note_reader(*node, i);
  }
}

void NarrowValues::note_reader(const Node& node, size_t operand) {
  Flags& flags = flags_of(node.operands[operand]);
  flags.read = true;
  if (multiplies(node)) return;
  if (moves_whole(node)) {
    for (int i = 0; i < node.results(); ++i) {
      const Flags& moved = flags_of(node.result(i));
      flags.beside_products |= moved.beside_products;
      flags.elsewhere |= moved.elsewhere;
    }
    return;
  }
  const bool step_by_step = node.is(ops::scan) && operand < Scan(node).streams().size();
  (step_by_step || sums_over_rows(node) ? flags.beside_products : flags.elsewhere) = true;
}

void NarrowValues::classify(const Node& node) {
  if (node.is(ops::input) || node.is(ops::state)) return;
  const bool computed = multiplies(node) || node.is(ops::scan) ||
                        std::ranges::any_of(node.operands, [&](Value x) { return is_computed(x); });
  for (int i = 0; i < node.results(); ++i) flags_of(node.result(i)).computed = computed;
  if (node.is(ops::scan)) return classify_emits(Scan(node));
  for (int i = 0; i < node.results(); ++i)
    flags_of(node.result(i)).narrow = is_narrow(node.result(i));
}

bool NarrowValues::may_be_narrow(Value value) const {
  const Flags& flags = flags_of(value);
  return flags.read && !flags.elsewhere && value.dtype() == DType::f32 &&
         value.shape().elements() > 0;
}

bool NarrowValues::is_narrow(Value value) const {
  const Node& node = *value.node;
  const auto is_in = [&](Value operand) { return contains(operand); };
  if (moves_whole(node) && std::ranges::any_of(node.operands, is_in))
    return !flags_of(value).elsewhere;
  if (!may_be_narrow(value) || !stores_what_it_computes(node)) return false;
  return is_exact(value) || (width_of(value.shape()) > 1 && is_computed(value));
}

void NarrowValues::classify_emits(const Scan& scan) {
  const Graph& body = scan.body();
  // Where a product has gone in, from step to step through what is carried.
  std::vector<const Node*> from;
  for (const Node& node : body.nodes()) {
    if (multiplies(node) || node.is(ops::scan)) from.push_back(&node);
  }
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    if (is_computed(scan.node().operands[i])) from.push_back(body.inputs()[i].node);
  }
  Spread::Links steps;
  for (size_t i = 0; i < scan.next().size(); ++i)
    steps.emplace_back(scan.next()[i].node, scan.body_carries()[i].node);
  const Spread computed(body, Spread::Along::users, from, steps);
  const ValueSet states(Values(scan.next().begin(), scan.next().end()));
  for (size_t i = 0; i < scan.emits().size(); ++i) {
    const Value emit = scan.emits()[i], emitted = scan.emitted(i);
    const bool is_state = states.contains(emit) && !mutated(Mutant::states_saved_rounded);
    const bool is_saved = !is_state && width_of(emit.shape()) > 1 && computed.has(*emit.node);
    flags_of(emitted).narrow = may_be_narrow(emitted) && (is_exact(emitted) || is_saved);
  }
}

}  // namespace graphc
