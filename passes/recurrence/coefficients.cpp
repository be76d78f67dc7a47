// SPDX-License-Identifier: Apache-2.0
#include "passes/recurrence/coefficients.h"

#include <algorithm>

#include "ir/build.h"

namespace graphc::core {
namespace {

/// The extents with ones in front, up to a rank.
Shape padded(const Shape& shape, int rank) {
  Shape result = shape;
  while (result.rank() < rank) result = result.insert(0, 1);
  return result;
}

/// A value for all steps with its rows as one axis, [steps or 1, rows or 1, width].
Value as_coefficient(const Batched& known, const Shape& aligned, const AxesOfRows& axes) {
  const int64_t steps = known.stacked ? known.value.shape()[0] : 1;
  const Shape rows(std::vector<int64_t>(axes.carry.begin(), axes.carry.begin() + axes.row_axes()));
  const Shape found(std::vector<int64_t>(aligned.begin(), aligned.begin() + axes.row_axes()));
  Value value = reshape(known.value, aligned.insert(0, steps));
  const bool repeats = found != rows && found.elements() > 1;
  if (repeats) {
    Shape full = aligned.insert(0, steps);
    for (int axis = 0; axis < axes.row_axes(); ++axis) full = full.with(axis + 1, rows[axis]);
    value = broadcast_to(value, full);
  }
  const int64_t count = found.elements() == 1 ? 1 : rows.elements();
  return reshape(value, Shape{steps, count, value.shape().elements() / (steps * count)});
}

}  // namespace

int64_t AxesOfRows::rows() const { return carry.elements() / (keys() * values()); }

Shape AxesOfRows::flat() const { return carry.without(key_axis); }

std::optional<Coefficient> coefficient(KnownSteps& known, Value inner, const Shape& beside,
                                       const AxesOfRows& axes) {
  const bool flat = beside.rank() == axes.carry.rank() - 1;
  if (inner.shape().rank() > beside.rank()) return std::nullopt;
  const Shape aligned = padded(inner.shape(), beside.rank());
  for (int axis = 0; axis < axes.row_axes(); ++axis) {
    if (aligned[axis] != 1 && aligned[axis] != axes.carry[axis]) return std::nullopt;
  }
  Coefficient result;
  result.keys = !flat && aligned[axes.key_axis] > 1;
  result.values = aligned[flat ? axes.row_axes() : axes.value_axis()] > 1;
  if (result.keys && result.values) return std::nullopt;
  result.value = as_coefficient(known.get(inner), aligned, axes);
  return result;
}

std::optional<std::vector<Write>> outer_products(KnownSteps& known, Value inner,
                                                 const AxesOfRows& axes) {
  const Node& node = *inner.node;
  const auto number = [&](double value) {
    return splat(known.graph(), value, {inner.dtype(), Shape{1, 1, 1}});
  };
  if (const auto one = coefficient(known, inner, axes.carry, axes)) {
    if (one->values) return {{{number(1), {one->value, {}}}}};
    return {{{one->value, {number(1), {}}}}};
  }
  if (node.is(ops::neg)) {
    auto writes = outer_products(known, node.operands[0], axes);
    if (writes) {
      for (Write& write : *writes) write.keys = -write.keys;
    }
    return writes;
  }
  if (node.is(ops::add) || node.is(ops::sub)) {
    auto left = outer_products(known, node.operands[0], axes);
    const auto right = outer_products(known, node.operands[1], axes);
    if (!left || !right) return std::nullopt;
    for (Write write : *right) {
      if (node.is(ops::sub)) write.keys = -write.keys;
      left->push_back(write);
    }
    return left;
  }
  if (!node.is(ops::mul)) return std::nullopt;
  for (const size_t one : {size_t{0}, size_t{1}}) {
    const auto factor = coefficient(known, node.operands[one], axes.carry, axes);
    if (!factor) continue;
    auto writes = outer_products(known, node.operands[1 - one], axes);
    if (!writes) return std::nullopt;
    for (Write& write : *writes) {
      Value& side = factor->values ? write.values.constant : write.keys;
      side = side * factor->value;
    }
    return writes;
  }
  return std::nullopt;
}

Value added(Value a, Value b) { return !a ? b : !b ? a : a + b; }

Value scaled(Value a, Value factor) { return !a ? a : is_splat(a, 1) ? factor : a * factor; }

ReadForm scaled(const ReadForm& read, Value factor) {
  return {scaled(read.constant, factor), scaled(read.keys, factor)};
}

ReadForm added(const ReadForm& a, const ReadForm& b) {
  return {added(a.constant, b.constant), added(a.keys, b.keys)};
}

StateForm scaled(const StateForm& state, Value factor) {
  StateForm result{scaled(state.decay, factor), state.writes};
  for (Write& write : result.writes) write.keys = scaled(write.keys, factor);
  return result;
}

StateForm added(StateForm a, const StateForm& b) {
  a.decay = added(a.decay, b.decay);
  a.writes.insert(a.writes.end(), b.writes.begin(), b.writes.end());
  return a;
}

namespace {

Value selected(Value condition, Value a, Value b) {
  if (!a && !b) return {};
  if (!a) return select(condition, 0, b);
  return b ? select(condition, a, b) : select(condition, a, 0);
}

}  // namespace

ReadForm selected(Value condition, const ReadForm& a, const ReadForm& b) {
  return {selected(condition, a.constant, b.constant), selected(condition, a.keys, b.keys)};
}

StateForm selected(Value condition, const StateForm& a, const StateForm& b) {
  StateForm result{selected(condition, a.decay, b.decay), {}};
  for (Write write : a.writes) {
    write.keys = selected(condition, write.keys, Value{});
    result.writes.push_back(write);
  }
  for (Write write : b.writes) {
    write.keys = selected(condition, Value{}, write.keys);
    result.writes.push_back(write);
  }
  return result;
}

ReadForm sum_over_keys(const StateForm& state, int64_t keys) {
  ReadForm result{{}, state.decay};
  for (const Write& write : state.writes) {
    const Value total = write.keys.shape()[2] == 1 ? write.keys * keys : sum(write.keys, 2, true);
    result = added(result, scaled(write.values, total));
  }
  return result;
}

StateForm joined(StateForm state) {
  StateForm result{state.decay, {}};
  for (const Write& write : state.writes) {
    const auto same = std::ranges::find(result.writes, write.keys, &Write::keys);
    if (same == result.writes.end()) {
      result.writes.push_back(write);
    } else {
      same->values = added(same->values, write.values);
    }
  }
  return result;
}

}  // namespace graphc::core
