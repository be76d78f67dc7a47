// SPDX-License-Identifier: Apache-2.0
#include "passes/sum_over_steps.h"

#include <algorithm>
#include <numeric>

#include "ir/build.h"
#include "ir/mutant.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

/// The operands of a linear op that must be summed; the others are invariant factors. Empty if the
/// op is not linear in what varies.
std::optional<Values> linear_operands(const Node& node, const Moves& moves) {
  for (const Op* op : {&ops::add, &ops::sub, &ops::neg, &ops::reshape, &ops::transpose,
                       &ops::broadcast_to, &ops::slice, &ops::split, &ops::concat}) {
    if (node.is(*op)) return node.operands;
  }
  if (node.is(ops::mul) || node.is(ops::matmul)) {
    const bool left = moves(node.operands[0]), right = moves(node.operands[1]);
    if (left && right) return std::nullopt;
    return Values{node.operands[left ? 0 : 1]};
  }
  if (node.is(ops::div) && !moves(node.operands[1])) return Values{node.operands[0]};
  return std::nullopt;
}

/// A product of two values of the step, one for each entry of their leading axes.
bool is_product_of_rows(const Node& node) {
  if (!node.is(ops::matmul)) return false;
  const Shape &a = node.operands[0].shape(), &b = node.operands[1].shape();
  if (a.rank() != b.rank() || a.rank() >= Shape::kMaxRank) return false;
  return std::equal(a.begin(), a.end() - 2, b.begin());
}

/// op(x) of [T, ..., rows, n] as [..., T * k, n], with the contracted axis of the step's product in
/// front.
Value contracted_rows(Value stacked, bool contracted_last) {
  const Shape& shape = stacked.shape();
  const int64_t last = shape.rank() - 1;
  const int64_t contracted = contracted_last ? last : last - 1;
  const int64_t kept = contracted_last ? last - 1 : last;
  Ints order, extents;
  for (int64_t axis = 1; axis < last - 1; ++axis) {
    order.push_back(axis);
    extents.push_back(shape[int(axis)]);
  }
  order.insert(order.end(), {0, contracted, kept});
  extents.push_back(shape[0] * shape[int(contracted)]);
  extents.push_back(shape[int(kept)]);
  return reshape(std::ranges::is_sorted(order) ? stacked : transpose(stacked, order), extents);
}

Value sum_of_products(const Node& node, Batch& batch) {
  const bool ta = node.attributes.get_bool("transpose_a", false);
  const bool tb = node.attributes.get_bool("transpose_b", false);
  const Value a = contracted_rows(batch.get_stacked(node.operands[0]), !ta);
  const Value b = contracted_rows(batch.get_stacked(node.operands[1]), tb);
  return matmul(a, b, true, false);
}

Value sum_of_sums(const Node& node, Batch& batch) {
  Ints axes{0};
  for (int64_t axis : node.attributes.get_ints("axes")) axes.push_back(axis + 1);
  return reshape(sum(batch.get_stacked(node.operands[0]), axes), node.types[0].shape);
}

Value sum_of_scatters(const Node& node, Batch& batch, Graph& to) {
  return scatter_add(splat(to, 0, node.types[0]), batch.get_stacked(node.operands[1]),
                     batch.get_stacked(node.operands[2]));
}

/// The values to stack for a term that is not itself a sum: the operands of what is summed over all
/// steps. Empty for other terms.
std::optional<Values> stacked_operands(Value term, const Moves& moves) {
  const Node& node = *term.node;
  if (!moves(term)) return Values{term};
  if (is_product_of_rows(node) && moves(node.operands[0]) && moves(node.operands[1]))
    return node.operands;
  const auto can_stack = [](Value value) { return value.shape().rank() < Shape::kMaxRank; };
  if (node.is(ops::sum) && can_stack(node.operands[0])) return node.operands;
  if (node.is(ops::scatter_add) && is_splat(node.operands[0], 0) && can_stack(node.operands[2]))
    return Values{node.operands[1], node.operands[2]};
  return std::nullopt;
}

/// The number of steps as a factor of this type: integers wrap around.
double as_factor(DType dtype, int64_t steps) {
  switch (dtype) {
    case DType::u8:
      return uint8_t(steps);
    case DType::u32:
      return uint32_t(steps);
    case DType::i32:
      return int32_t(steps);
    default:
      return double(steps);
  }
}

bool contains(const Values& values, Value value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

// Terms may be chains of any length with shared parts: both functions visit each value once, with
// an explicit stack.

std::optional<Values> operands_of_sum(Value term, const Moves& moves, const Moves& is_known) {
  Values wanted, waiting{term};
  ValueSet seen(waiting);
  while (!waiting.empty()) {
    const Value at = waiting.back();
    waiting.pop_back();
    if (is_known(at)) continue;
    if (const std::optional<Values> stacked = stacked_operands(at, moves)) {
      wanted.insert(wanted.end(), stacked->begin(), stacked->end());
      continue;
    }
    const std::optional<Values> linear = linear_operands(*at.node, moves);
    if (!linear) return std::nullopt;
    for (Value operand : at.node->operands) {
      if (!contains(*linear, operand)) wanted.push_back(operand);
    }
    for (auto operand = linear->rbegin(); operand != linear->rend(); ++operand) {
      if (seen.add(*operand)) waiting.push_back(*operand);
    }
  }
  return wanted;
}

Value sum_over_steps(Value term, const Moves& moves, Batch& batch, Graph& to, int64_t steps,
                     const ValueMap& known) {
  ValueMap sums(*term.node->graph);
  const auto sum_of = [&](Value at) -> Value {
    const Node& node = *at.node;
    if (const Value sum = known.find(at)) return sum;
    if (!moves(at))
      return batch.get(at).value *
             (mutated(Mutant::constant_term_summed_once) ? 1 : as_factor(at.dtype(), steps));
    if (is_product_of_rows(node) && moves(node.operands[0]) && moves(node.operands[1]))
      return sum_of_products(node, batch);
    if (node.is(ops::sum)) return sum_of_sums(node, batch);
    if (node.is(ops::scatter_add)) return sum_of_scatters(node, batch, to);
    const Values linear = *linear_operands(node, moves);
    Values operands;
    for (Value operand : node.operands)
      operands.push_back(contains(linear, operand) ? sums(operand) : batch.get(operand).value);
    return copy_node(node, std::move(operands), to).result(at.index);
  };
  Values waiting{term};
  while (!waiting.empty()) {
    const Value at = waiting.back();
    const size_t before = waiting.size();
    if (!sums.find(at) && !known.find(at) && !stacked_operands(at, moves)) {
      const Values linear = *linear_operands(*at.node, moves);
      for (auto operand = linear.rbegin(); operand != linear.rend(); ++operand) {
        if (!sums.find(*operand)) waiting.push_back(*operand);
      }
    }
    if (waiting.size() != before) continue;
    waiting.pop_back();
    if (sums.find(at)) continue;
    const WhereScope scope(at.node->where);
    sums.set(at, sum_of(at));
  }
  return sums(term);
}

std::optional<Values> terms_added(Value carry, Value next,
                                  const std::vector<std::vector<int>>& uses,
                                  const std::vector<std::vector<const Node*>>& users) {
  const auto used_once = [&](Value value) {
    return uses[size_t(value.node->id)][size_t(value.index)] == 1;
  };
  // Forward: a value used once is used by one node.
  Values terms;
  Value at = carry;
  while (at != next) {
    if (!used_once(at) || at.type() != carry.type()) return std::nullopt;
    const auto& candidates = users[size_t(at.node->id)];
    const auto user = std::ranges::find_if(
        candidates, [&](const Node* node) { return contains(node->operands, at); });
    if (user == candidates.end()) return std::nullopt;
    const Node& node = **user;
    if (node.is(ops::scatter_add) && node.operands[0] == at) {
      terms.push_back(node.result());
    } else if (node.is(ops::add)) {
      terms.push_back(node.operands[node.operands[0] == at ? 1 : 0]);
    } else {
      return std::nullopt;
    }
    at = node.result();
  }
  if (!used_once(at)) return std::nullopt;
  // Order the terms from the last one added to the first.
  std::ranges::reverse(terms);
  return terms;
}

}  // namespace graphc::core
