// SPDX-License-Identifier: Apache-2.0
// The rules of ops that move elements, of sums, and of tables.
#include <algorithm>

#include "ir/build.h"
#include "ir/numeral.h"
#include "ir/op.h"
#include "passes/replicate/rules.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

bool is_one_of(const Node& node, std::initializer_list<const Op*> ops) {
  return std::ranges::any_of(ops, [&](const Op* op) { return node.is(*op); });
}

bool contains(const Ints& list, int64_t number) { return std::ranges::count(list, number) > 0; }

/// Whether the op works along this axis of its first operand: then a part has not all of it.
bool works_along(const Node& node, int axis) {
  const Attributes& attributes = node.attributes;
  if (attributes.find("axis") != nullptr && attributes.get_int("axis", 0) == axis) return true;
  if (attributes.find("axes") != nullptr && contains(attributes.get_ints("axes"), axis))
    return true;
  if (!node.is(ops::pad)) return false;
  return attributes.get_ints("low")[size_t(axis)] != 0 ||
         attributes.get_ints("high")[size_t(axis)] != 0;
}

/// Where the axis is in the result.
int axis_of_result(const Node& node, int axis) {
  if (node.is(ops::transpose)) {
    const Ints order = node.attributes.get_ints("permutation");
    return int(std::ranges::find(order, axis) - order.begin());
  }
  if (node.is(ops::broadcast_to))
    return axis + node.types[0].shape.rank() - node.operands[0].shape().rank();
  const bool reduces = is_one_of(node, {&ops::sum, &ops::max, &ops::prod});
  if (!reduces || node.attributes.get_bool("keep", false)) return axis;
  const Ints axes = node.attributes.get_ints("axes");
  return axis - int(std::ranges::count_if(axes, [&](int64_t each) { return each < axis; }));
}

/// The attributes with the extents of what one shard has.
Attributes own_attributes(const Replicator& r, const Node& node, const Holding& holding) {
  Attributes attributes = node.attributes;
  if (!is_one_of(node, {&ops::reshape, &ops::broadcast_to})) return attributes;
  const Shape own = own_shape(node.types[0].shape, holding, r.shards().count);
  attributes.set("shape", Ints(own.begin(), own.end()));
  return attributes;
}

void add_as(Replicator& r, const Node& node, const Values& operands, const Holding& from,
            const Holding& to) {
  std::vector<Values> held;
  for (const Value operand : operands) held.push_back(r.as(operand, from));
  r.add(node, held, own_attributes(r, node, to), std::vector<Holding>(size_t(node.results()), to));
}

/// Whether the op of one operand is linear, so that it may be applied term by term.
bool is_linear(const Node& node) {
  if (node.is(ops::pad)) {
    const Attribute* value = node.attributes.find("value");
    return value == nullptr || Numeral::of(*value).as_double() == 0;
  }
  return is_one_of(node, {&ops::reshape, &ops::transpose, &ops::broadcast_to, &ops::slice,
                          &ops::split, &ops::reverse, &ops::concat, &ops::sum});
}

/// An op that moves elements, or combines those along axes.
void replicate_moves(Replicator& r, const Node& node) {
  const auto held = [&](Held wanted) {
    return std::ranges::find_if(node.operands,
                                [&](Value operand) { return r.holding(operand).held == wanted; });
  };
  if (held(Held::terms) != node.operands.end()) {
    const bool alike = std::ranges::all_of(
        node.operands, [&](Value operand) { return r.holding(operand).terms(); });
    if (alike && is_linear(node)) return add_as(r, node, node.operands, kTerms, kTerms);
  }
  const auto first = held(Held::parts);
  if (first == node.operands.end()) return r.add_whole(node);
  const Holding holding = r.holding(*first);
  if (node.is(ops::reshape)) {
    const auto to = reshaped(first->shape(), holding, node.types[0].shape, r.shards().count);
    if (!to) return r.add_whole(node, "the new shape has no axis for what is shared out");
    return add_as(r, node, node.operands, holding, *to);
  }
  if (node.is(ops::sum) && works_along(node, holding.axis))
    return add_as(r, node, node.operands, holding, kTerms);
  if (works_along(node, holding.axis))
    return r.add_whole(node, "it works along the axis that is shared out");
  add_as(r, node, node.operands, holding,
         parts_along(axis_of_result(node, holding.axis), holding.outer));
}

void replicate_gather(Replicator& r, const Node& node) {
  const Value table = node.operands[0], indices = node.operands[1];
  const Holding st = r.holding(table), si = r.holding(indices);
  const int axes = indices.shape().rank();
  if (si.parts()) return r.add(node, {r.as(table, kWhole), r.as(indices, si)}, si);
  if (!si.whole()) return r.add_whole(node);
  if (st.terms()) return r.add(node, {r.as(table, st), r.as(indices, kWhole)}, kTerms);
  if (!st.parts() || st.axis == 0)
    return r.add_whole(node, "its indices may be of rows that other ranks have");
  const Holding result = parts_along(st.axis - 1 + axes, st.outer);
  r.add(node, {r.as(table, st), r.as(indices, kWhole)}, result);
}

/// Rows that are shared out are added to the rows of a sum.
void replicate_scatter_add(Replicator& r, const Node& node) {
  const Value base = node.operands[0], indices = node.operands[1], rows = node.operands[2];
  const int axes = indices.shape().rank();
  Holding by = r.holding(indices);
  if (!by.parts() && r.holding(rows).parts() && r.holding(rows).axis < axes) by = r.holding(rows);
  if (by.parts())
    return r.add(node, {r.as(base, kTerms), r.as(indices, by), r.as(rows, by)}, kTerms);
  const bool terms = r.holding(base).terms() || r.holding(rows).terms();
  if (by.whole() && terms)
    return r.add(node, {r.as(base, kTerms), r.as(indices, kWhole), r.as(rows, kTerms)}, kTerms);
  r.add_whole(node, "its rows are not shared out by index");
}

}  // namespace

void replicate_shape(Replicator& r, const Node& node) {
  if (node.is(ops::gather)) return replicate_gather(r, node);
  if (node.is(ops::scatter_add)) return replicate_scatter_add(r, node);
  if (node.is(ops::check_labels)) {
    const Holding& holding = r.holding(node.operands[0]);
    if (holding.parts()) return r.add(node, {r.as(node.operands[0], holding)}, holding);
    return r.add_whole(node);
  }
  if (is_linear(node) || is_one_of(node, {&ops::pad, &ops::max, &ops::prod, &ops::cumsum}))
    return replicate_moves(r, node);
  r.add_whole(node, fmt::format("'{}' is not shared out", node.op.name));
}

}  // namespace graphc::core
