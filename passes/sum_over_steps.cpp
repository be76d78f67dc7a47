// SPDX-License-Identifier: Apache-2.0
#include "passes/sum_over_steps.h"

#include <algorithm>
#include <numeric>

#include "ir/build.h"
#include "ir/mutant.h"
#include "passes/region.h"
#include "passes/simplify_rules.h"

namespace graphc {
namespace {

using Ints = std::vector<int64_t>;

/// The operands of a linear op that must be summed; the others are factors that do not move.
/// Nothing when the op is not linear in what moves.
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

bool is_product_of_rows(const Node& node) {
  return node.is(ops::matmul) && node.operands[0].shape().rank() == 2 &&
         node.operands[1].shape().rank() == 2;
}

/// op(x) of [T, rows, n] as [T * k, n], with the contracted axis of the step's product outermost.
Value contracted_rows(Value stacked, bool contracted_last) {
  if (contracted_last) stacked = transpose(stacked, {0, 2, 1});
  return reshape(stacked, {stacked.shape()[0] * stacked.shape()[1], stacked.shape()[2]});
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

}  // namespace

std::optional<Values> operands_of_sum(Value term, const Moves& moves) {
  const Node& node = *term.node;
  if (!moves(term)) return Values{term};
  if (is_product_of_rows(node) && moves(node.operands[0]) && moves(node.operands[1]))
    return node.operands;
  if (node.is(ops::sum)) return node.operands;
  if (node.is(ops::scatter_add) && is_splat(node.operands[0], 0))
    return Values{node.operands[1], node.operands[2]};
  const std::optional<Values> linear = linear_operands(node, moves);
  if (!linear) return std::nullopt;
  Values wanted;
  for (Value operand : node.operands) {
    if (std::count(linear->begin(), linear->end(), operand) == 0) wanted.push_back(operand);
  }
  for (Value operand : *linear) {
    const std::optional<Values> more = operands_of_sum(operand, moves);
    if (!more) return std::nullopt;
    wanted.insert(wanted.end(), more->begin(), more->end());
  }
  return wanted;
}

Value sum_over_steps(Value term, const Moves& moves, Batch& batch, Graph& to, int64_t steps) {
  const Node& node = *term.node;
  const WhereScope scope(node.where);
  if (!moves(term))
    return batch.get(term).value * (mutated(Mutant::constant_term_summed_once) ? 1 : double(steps));
  if (is_product_of_rows(node) && moves(node.operands[0]) && moves(node.operands[1]))
    return sum_of_products(node, batch);
  if (node.is(ops::sum)) return sum_of_sums(node, batch);
  if (node.is(ops::scatter_add)) return sum_of_scatters(node, batch, to);
  const Values linear = *linear_operands(node, moves);
  Values operands;
  for (Value operand : node.operands) {
    const bool summed = std::count(linear.begin(), linear.end(), operand) > 0;
    operands.push_back(summed ? sum_over_steps(operand, moves, batch, to, steps)
                              : batch.get(operand).value);
  }
  return copy_node(node, std::move(operands), to).result(term.index);
}

std::optional<Values> terms_added(Value carry, Value next,
                                  const std::vector<std::vector<int>>& uses) {
  const auto used_once = [&](Value value) {
    return uses[size_t(value.node->id)][size_t(value.index)] == 1;
  };
  if (!used_once(carry)) return std::nullopt;
  Values terms;
  Value at = next;
  while (at != carry) {
    if (!used_once(at)) return std::nullopt;
    const Node& node = *at.node;
    if (node.is(ops::scatter_add)) {
      terms.push_back(at);
      at = node.operands[0];
      continue;
    }
    if (!node.is(ops::add)) return std::nullopt;
    std::vector<bool> found = dependents(*node.graph, {carry});
    const bool left = found[size_t(node.operands[0].node->id)];
    const bool right = found[size_t(node.operands[1].node->id)];
    if (left == right) return std::nullopt;
    terms.push_back(node.operands[left ? 1 : 0]);
    at = node.operands[left ? 0 : 1];
    if (at.type() != carry.type()) return std::nullopt;
  }
  return terms;
}

}  // namespace graphc
