// SPDX-License-Identifier: Apache-2.0
#include "passes/batch.h"

#include <algorithm>

#include "ir/build.h"
#include "passes/region.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

bool is_one_of(const Node& node, std::initializer_list<const Op*> ops) {
  return std::any_of(ops.begin(), ops.end(), [&](const Op* op) { return node.is(*op); });
}

/// Whether it is a product with a matrix for each index of the leading axes: of each head.
bool has_own_matrices(const Node& node) {
  const Shape &a = node.operands[0].shape(), &b = node.operands[1].shape();
  return b.rank() > 2 && a.rank() == b.rank() && std::equal(b.begin(), b.end() - 2, a.begin());
}

bool can_batch_matmul(const Node& node, const std::vector<bool>& stacked) {
  const int a = node.operands[0].shape().rank(), b = node.operands[1].shape().rank();
  if (stacked[0] && stacked[1]) return a == b;
  return stacked[0] && (b == 2 || has_own_matrices(node));
}

/// The product of the rows of all steps [T, heads, rows, k] with a matrix of each head, which the
/// steps share: the steps become rows.
Value product_of_heads(const Node& node, Value rows, Value matrices) {
  const int rank = rows.shape().rank();
  Ints forth;
  for (int axis = 1; axis < rank - 2; ++axis) forth.push_back(axis);
  const bool transposed = node.attributes.get_bool("transpose_a", false);
  forth.insert(forth.end(),
               {0, transposed ? rank - 1 : rank - 2, transposed ? rank - 2 : rank - 1});
  const Value moved = transpose(rows, forth);
  const Shape shape = moved.shape();
  Ints extents(shape.begin(), shape.end() - 3);
  extents.push_back(shape[-3] * shape[-2]);
  extents.push_back(shape[-1]);
  const bool transpose_b = node.attributes.get_bool("transpose_b", false);
  const Value product = matmul(reshape(moved, Shape(extents)), matrices, false, transpose_b);
  Ints apart(shape.begin(), shape.end() - 1), back{rank - 3};
  apart.push_back(product.shape()[-1]);
  for (int axis = 0; axis < rank - 3; ++axis) back.push_back(axis);
  back.insert(back.end(), {rank - 2, rank - 1});
  return transpose(reshape(product, Shape(apart)), back);
}

/// The attributes with axes shifted for the stacked operand; axes count from the front.
Attributes shifted(const Node& node) {
  Attributes attributes = node.attributes;
  const int rank = node.operands[0].shape().rank();
  if (node.attributes.find("axis") != nullptr) {
    const int64_t axis = node.attributes.get_int("axis", 0);
    attributes.set("axis", (axis < 0 ? axis + rank : axis) + 1);
  }
  if (node.attributes.find("axes") != nullptr) {
    Ints axes = node.attributes.get_ints("axes");
    for (int64_t& axis : axes) axis = (axis < 0 ? axis + rank : axis) + 1;
    attributes.set("axes", axes);
  }
  if (node.attributes.find("permutation") != nullptr) {
    Ints permutation{0};
    for (int64_t axis : node.attributes.get_ints("permutation")) permutation.push_back(axis + 1);
    attributes.set("permutation", permutation);
  }
  return attributes;
}

Shape stacked_shape(const Shape& shape, int64_t steps) { return shape.insert(0, steps); }

Ints extents_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace

bool can_batch(const Node& node, const std::vector<bool>& stacked) {
  if (node.is(ops::size)) return true;
  if (std::find(stacked.begin(), stacked.end(), true) == stacked.end()) return true;
  for (Value operand : node.operands) {
    if (operand.shape().rank() >= Shape::kMaxRank) return false;
  }
  for (const Type& type : node.types) {
    if (type.shape.rank() >= Shape::kMaxRank) return false;
  }
  if (is_elementwise(node.op)) return true;
  if (node.is(ops::matmul)) return can_batch_matmul(node, stacked);
  if (node.is(ops::gather)) return !stacked[0];
  if (is_one_of(node, {&ops::softmax, &ops::log_softmax, &ops::cross_entropy, &ops::one_hot,
                       &ops::layer_norm}))
    return std::find(stacked.begin(), stacked.end(), false) == stacked.end();
  return is_one_of(node,
                   {&ops::reshape, &ops::transpose, &ops::broadcast_to, &ops::slice, &ops::concat,
                    &ops::split, &ops::sum, &ops::max, &ops::mean, &ops::check_labels});
}

void Batch::set(Value inner, Batched outer) {
  std::vector<Batched>& results = known_[size_t(inner.node->id)];
  if (results.empty()) results.resize(size_t(inner.node->results()));
  results[size_t(inner.index)] = outer;
}

bool Batch::has(Value inner) const {
  const std::vector<Batched>& results = known_[size_t(inner.node->id)];
  return !results.empty() && results[size_t(inner.index)].value;
}

Batched Batch::get(Value inner) {
  const auto find = [&](Value value) -> Batched {
    const std::vector<Batched>& results = known_[size_t(value.node->id)];
    return results.empty() ? Batched{} : results[size_t(value.index)];
  };
  std::vector<bool> needed(body_.nodes().size(), false);
  if (!find(inner).value) needed[size_t(inner.node->id)] = true;
  for (int id = inner.node->id; id >= 0; --id) {
    if (!needed[size_t(id)]) continue;
    for (Value operand : body_.nodes()[size_t(id)].operands) {
      if (!find(operand).value) needed[size_t(operand.node->id)] = true;
    }
  }
  for (int id = 0; id <= inner.node->id; ++id) {
    if (!needed[size_t(id)]) continue;
    const Node& node = body_.nodes()[size_t(id)];
    GRAPHC_CHECK(!node.is(ops::input), "nothing stands for input %{}", node.names[0]);
    std::vector<Batched> operands;
    bool stacked = false;
    for (Value operand : node.operands) {
      operands.push_back(find(operand));
      stacked |= operands.back().stacked;
    }
    // A size refers to the shape of one step, not of all steps.
    if (node.is(ops::size)) {
      set(node.result(), {constant_size(node, to_), false});
      continue;
    }
    const Values results = add(node, operands);
    for (int i = 0; i < node.results(); ++i) {
      if (!find(node.result(i)).value) set(node.result(i), {results[size_t(i)], stacked});
    }
  }
  return find(inner);
}

Value Batch::get_stacked(Value inner) { return repeated(get(inner)); }

/// Reshaped to the rank of the result, so that trailing axes align.
Value Batch::aligned(const Batched& operand, int rank) {
  if (!operand.stacked) return operand.value;
  Shape shape = operand.value.shape();
  while (shape.rank() < rank + 1) shape = shape.insert(1, 1);
  return reshape(operand.value, shape);
}

Value Batch::repeated(const Batched& operand) {
  if (operand.stacked) return operand.value;
  return broadcast_to(operand.value, stacked_shape(operand.value.shape(), steps_));
}

Values Batch::add(const Node& node, const std::vector<Batched>& operands) {
  const WhereScope scope(node.where);
  Values values;
  std::vector<bool> stacked;
  for (const Batched& operand : operands) {
    values.push_back(operand.value);
    stacked.push_back(operand.stacked);
  }
  if (std::find(stacked.begin(), stacked.end(), true) == stacked.end())
    return results_of(copy_node(node, std::move(values), to_));
  GRAPHC_CHECK(can_batch(node, stacked), "'{}' cannot be computed for all steps at once",
               node.op.name);
  if (node.is(ops::matmul) && !stacked[1] && has_own_matrices(node))
    return {product_of_heads(node, values[0], values[1])};
  Attributes attributes = shifted(node);
  if (is_elementwise(node.op)) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = aligned(operands[i], node.types[0].shape.rank());
  } else if (node.is(ops::concat)) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = repeated(operands[i]);
  } else if (node.is(ops::reshape)) {
    attributes.set("shape", extents_of(stacked_shape(node.types[0].shape, steps_)));
  } else if (node.is(ops::broadcast_to)) {
    values[0] = aligned(operands[0], node.types[0].shape.rank());
    attributes.set("shape", extents_of(stacked_shape(node.types[0].shape, steps_)));
  } else if (node.is(ops::matmul) && !stacked[1] &&
             node.attributes.get_bool("transpose_a", false)) {
    // One matrix for batches of transposed rows: transpose the rows.
    Ints permutation;
    for (int axis = 0; axis < values[0].shape().rank(); ++axis) permutation.push_back(axis);
    std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
    values[0] = transpose(values[0], permutation);
    attributes.set("transpose_a", false);
  }
  return results_of(to_.add(node.op, std::move(values), std::move(attributes), node.regions,
                            node.where, node.names));
}

Value carry_history(Value initial, Value emitted, bool reverse) {
  const int64_t steps = emitted.shape()[0];
  const Value first = reshape(initial, initial.shape().insert(0, 1));
  if (steps == 1) return first;
  if (reverse) return concat({slice(emitted, 0, 1, steps), first}, 0);
  return concat({first, slice(emitted, 0, 0, steps - 1)}, 0);
}

}  // namespace graphc::core
