// SPDX-License-Identifier: Apache-2.0
#include "passes/narrow.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/kernels/fuse.h"
#include "passes/kernels/row_model.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

/// Whether the kernel that computes the node can round its result when storing it.
bool stores_what_it_computes(const Node& node) {
  return is_elementwise(node.op) || is_concat_of_units(node) ||
         (node.is(ops::matmul) && !is_batched_product(node));
}

/// A sum or maximum along the last axis, kept or not: one number per row.
bool reduces_rows(const Node& node) {
  if (!node.is(ops::sum) && !node.is(ops::max)) return false;
  const std::vector<int64_t> axes = node.attributes.get_ints("axes");
  return !axes.empty() && axes.back() == node.operands[0].shape().rank() - 1;
}

/// Whether each element of the result is an element of some operand: moves and selections.
bool picks(const Node& node) {
  return moves_whole(node) || node.is(ops::select) || node.is(ops::maximum) ||
         node.is(ops::minimum);
}

/// The state of a body, by node: carries, their next values, the parts from which these are
/// concatenated, and views of all of them.
std::vector<bool> states_of(const Scan& scan) {
  const Graph& body = scan.body();
  std::vector<bool> states(body.nodes().size(), false);
  for (const Value next : scan.next()) states[size_t(next.node->id)] = true;
  for (auto node = body.nodes().rbegin(); node != body.nodes().rend(); ++node) {
    if (!states[size_t(node->id)] || !moves_whole(*node)) continue;
    for (const Value operand : node->operands) states[size_t(operand.node->id)] = true;
  }
  for (const Value carry : scan.body_carries()) states[size_t(carry.node->id)] = true;
  for (const Node& node : body.nodes()) {
    if (!moves_whole(node)) continue;
    for (const Value operand : node.operands) {
      if (states[size_t(operand.node->id)]) states[size_t(node.id)] = true;
    }
  }
  return states;
}

}  // namespace

bool moves_whole(const Node& node) { return is_view(node) || node.is(ops::concat); }

bool multiplies(const Node& node) { return node.is(ops::matmul); }

bool sums_over_rows(const Node& node) {
  return node.is(ops::sum) && node.operands[0].shape().rank() == 2 &&
         node.attributes.get_ints("axes") == std::vector<int64_t>{0};
}

NarrowValues::NarrowValues(const Graph& graph, const Amplifiers& amplifiers,
                           const std::vector<ValueOrigin>& inputs, const std::vector<bool>& results)
    : amplifiers_(amplifiers) {
  for (const Node& node : graph.nodes()) flags_.emplace_back(node.types.size());
  const Values roots = graph.roots();
  for (size_t i = 0; i < roots.size(); ++i) {
    Flags& flags = flags_of(roots[i]);
    flags.read = true;
    const bool is_bf16 = i < results.size() && results[i];
    (is_bf16 ? flags.beside_products : flags.elsewhere) = true;
    flags.beside_sums |= is_bf16;
  }
  for (size_t i = 0; i < inputs.size(); ++i) flags_of(graph.inputs()[i]).origin = inputs[i];
  for (const Node& node : graph.nodes()) find_origins(node);
  note_readers(graph);
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::input) || node.is(ops::state)) continue;
    for (int i = 0; i < node.results(); ++i) {
      const Value value = node.result(i);
      ValueOrigin& origin = flags_of(value).origin;
      origin.narrow = is_narrow(value);
      if (!origin.narrow && would_be_narrow(value))
        flags_of(value).kept_for = amplifiers_.of(value);
      if (!origin.narrow || is_exact(value)) origin.codes.clear();
    }
  }
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
  if (multiplies(node)) {
    ++flags.products;
    return;
  }
  const size_t gates = flags.origin.codes.size();
  const bool takes_one = gates == 1 ? is_elementwise(node.op) : splits_gates(node, gates);
  if (gates > 0 && !takes_one && !node.is(ops::scan)) flags.codes_lost = true;
  if (moves_whole(node)) {
    for (int i = 0; i < node.results(); ++i) {
      const Flags& moved = flags_of(node.result(i));
      flags.beside_products |= moved.beside_products;
      flags.by_narrow |= moved.by_narrow;
      flags.products += moved.products;
      flags.sums += moved.sums;
      flags.beside_sums |= moved.beside_sums;
      // A value that stays f32 has this view as an f32 reader.
      flags.elsewhere |= moved.elsewhere || (moved.beside_products && !moved.may_be_rounded);
    }
    return;
  }
  const bool step_by_step = node.is(ops::scan) && operand < Scan(node).streams().size();
  // A product preserves the relative error of its factors; a difference or exp may amplify it.
  const bool by_narrow = node.is(ops::mul) && may_be_narrow(node.result(0));
  flags.by_narrow |= by_narrow;
  flags.sums += sums_over_rows(node) ? 1 : 0;
  flags.beside_sums |= step_by_step || by_narrow;
  (step_by_step || by_narrow || sums_over_rows(node) ? flags.beside_products : flags.elsewhere) =
      true;
}

void NarrowValues::find_origins(const Node& node) {
  if (node.is(ops::input) || node.is(ops::state)) return;
  if (node.is(ops::scan)) return find_origins_of(Scan(node));
  for (int i = 0; i < node.results(); ++i) {
    Flags& flags = flags_of(node.result(i));
    flags.origin = origin_of(node.result(i));
    flags.may_be_rounded =
        flags.origin.computed && !flags.origin.of_rows && width_of(node.types[size_t(i)].shape) > 1;
  }
}

ValueOrigin NarrowValues::origin_of(Value value) const {
  const Node& node = *value.node;
  const auto is_computed = [&](Value operand) { return flags_of(operand).origin.computed; };
  // A uniform constant, such as zero or a limit, counts as computed if it is combined with computed
  // values.
  const auto may_be_picked = [&](Value operand) {
    return is_computed(operand) || splat_value(operand) || operand.dtype() == DType::boolean;
  };
  ValueOrigin origin;
  origin.computed = multiplies(node) || std::ranges::any_of(node.operands, is_computed);
  if (picks(node)) origin.computed &= std::ranges::all_of(node.operands, may_be_picked);
  origin.of_rows = reduces_rows(node) || std::ranges::any_of(node.operands, [&](Value operand) {
                     return !multiplies(node) && flags_of(operand).origin.of_rows &&
                            operand.shape().elements() == value.shape().elements();
                   });
  return origin;
}

bool NarrowValues::is_narrow(Value value) const {
  return may_be_narrow(value) && !is_in_sum(value);
}

/// Whether it exists only in the kernel of the sum over rows that reads it. A loop, a product and a
/// concatenation store what they compute.
bool NarrowValues::is_in_sum(Value value) const {
  const Flags& flags = flags_of(value);
  return flags.sums == 1 && flags.products == 0 && !flags.beside_sums &&
         is_elementwise(value.node->op);
}

bool NarrowValues::may_be_narrow(Value value) const {
  const bool amplified = amplifiers_.of(value) != nullptr;
  return would_be_narrow(value) && (is_exact(value) || !amplified);
}

bool NarrowValues::would_be_narrow(Value value) const {
  const Node& node = *value.node;
  const Flags& flags = flags_of(value);
  if (!flags.read || flags.elsewhere || value.dtype() != DType::f32) return false;
  if (value.shape().elements() == 0 || !(is_exact(value) || flags.may_be_rounded)) return false;
  if (!flags.origin.codes.empty() && !is_exact(value) && (flags.codes_lost || flags.products > 0))
    return false;
  if (node.is(ops::scan)) return size_t(value.index) < Scan(node).emits().size();
  // Other results may exist only inside their reader's kernel, never in memory.
  if (flags.by_narrow && !is_view(node)) return false;
  const auto is_in = [&](Value operand) { return contains(operand) && codes_of(operand).empty(); };
  return stores_what_it_computes(node) ||
         (moves_whole(node) && std::ranges::any_of(node.operands, is_in));
}

std::vector<ValueOrigin> NarrowValues::inputs_of(const Scan& scan) const {
  const Graph& body = scan.body();
  std::vector<ValueOrigin> inputs(body.inputs().size());
  std::vector<const Node*> from;
  for (const Node& node : body.nodes()) {
    if (multiplies(node)) from.push_back(&node);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = flags_of(scan.node().operands[i]).origin;
    inputs[i].narrow &= i < scan.streams().size();
    if (inputs[i].computed) from.push_back(body.inputs()[i].node);
  }
  // After some step, a carry depends on a product.
  Spread::Links steps;
  for (size_t i = 0; i < scan.next().size(); ++i)
    steps.emplace_back(scan.next()[i].node, scan.body_carries()[i].node);
  const Spread computed(body, Spread::Along::users, from, steps);
  for (size_t i = 0; i < scan.body_carries().size(); ++i)
    inputs[scan.streams().size() + i].computed = computed.has(*scan.body_carries()[i].node);
  return inputs;
}

void NarrowValues::find_origins_of(const Scan& scan) {
  const NarrowValues inside(scan.body(), amplifiers_.inside(scan.node()), inputs_of(scan), {});
  const std::vector<bool> states = states_of(scan);
  for (size_t i = 0; i < size_t(scan.node().results()); ++i) {
    const bool is_emit = i < scan.emits().size();
    const Value value = is_emit ? scan.emits()[i] : scan.next()[i - scan.emits().size()];
    const bool is_state = states[size_t(value.node->id)] && !mutated(Mutant::states_saved_rounded);
    const ValueOrigin& origin = inside.flags_of(value).origin;
    Flags& flags = flags_of(scan.node().result(int(i)));
    flags.origin = {.narrow = false, .computed = origin.computed, .of_rows = origin.of_rows};
    if (is_emit) flags.origin.codes = gate_codes_of(value);
    flags.may_be_rounded =
        is_emit && !is_state && origin.computed && !origin.of_rows && width_of(value.shape()) > 1;
  }
}

}  // namespace graphc::core
