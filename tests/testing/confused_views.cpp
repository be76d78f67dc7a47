// SPDX-License-Identifier: Apache-2.0
// Moves that only rearrange: parts of a value, permuted elements, repetition.
#include <algorithm>

#include "ir/build.h"
#include "tests/testing/confused_moves.h"

namespace graphc::core::testing {
namespace {

using Ints = std::vector<int64_t>;

Ints ints_of(const Shape& shape) { return Ints(shape.begin(), shape.end()); }

}  // namespace

Sized Confuser::moved(const Sized& x) {
  if (x.rank() == 0) return x;
  const int axis = axis_of(x);
  const int64_t n = x.shape()[axis];
  switch (draw(0, 5)) {
    case 0:
      return {reverse(x.value, {axis}), x.bound};
    case 1:
      if (n % 2 == 0) {
        const Values parts = split(x.value, 2, axis);
        return {concat({parts[1], parts[0]}, axis), x.bound};
      }
      break;
    case 2:
      if (n >= 2) {
        const int64_t cut = draw(1, int(n) - 1);
        return {concat({slice(x.value, axis, cut, n), slice(x.value, axis, 0, cut)}, axis),
                x.bound};
      }
      break;
    case 3:
      if (x.rank() >= 2 && x.shape()[-1] == x.shape()[-2]) {
        Ints order;
        for (int i = 0; i < x.rank(); ++i) order.push_back(i);
        std::swap(order[order.size() - 1], order[order.size() - 2]);
        return {transpose(x.value, order), x.bound};
      }
      break;
    case 4:
      if (n >= 2) {
        // The first elements in place of the last: overlapping parts of one value.
        const int64_t cut = draw(1, int(n) - 1);
        return {concat({slice(x.value, axis, 0, cut), slice(x.value, axis, 0, n - cut)}, axis),
                x.bound};
      }
      break;
    default:
      break;
  }
  return x;
}

Sized Confuser::reshaped(const Sized& x) {
  Ints shape = ints_of(x.shape());
  switch (draw(0, 4)) {
    case 0:
      shape = {x.shape().elements()};
      break;
    case 1:
      if (shape.size() < 5) shape.insert(shape.begin(), 1);
      break;
    case 2:
      if (!shape.empty() && shape.front() == 1) shape.erase(shape.begin());
      break;
    case 3:
      if (shape.size() >= 2) {
        shape[1] *= shape[0];
        shape.erase(shape.begin());
      }
      break;
    default:
      std::ranges::reverse(shape);
      break;
  }
  return {reshape(x.value, Shape(shape)), x.bound};
}

Sized Confuser::joined(const Scope& scope, const Sized& x) {
  const int axis = axis_of(x);
  if (chance(6)) {
    // Two empty values, equal or different, along the axis with extent 0 or another.
    const int empty = chance(50) ? axis : axis_of(x);
    const Sized none{slice(x.value, empty, 0, 0), x.bound};
    const Sized other = chance(50) ? take(scope, none.type()) : none;
    const Sized made{concat({none.value, other.value}, axis), std::max(none.bound, other.bound)};
    if (made.bound > 1000) return made;
    if (x.dtype() != DType::boolean && chance(40))
      return {made.value + made.value, held(x.dtype(), 2 * made.bound)};
    return combined(made, made);
  }
  Values parts{x.value};
  int64_t bound = x.bound;
  for (int i = draw(1, 2); i > 0; --i) {
    Sized part = x;
    if (chance(40))
      part = pick(scope, [&](const Sized& y) {
        return y.dtype() == x.dtype() && y.rank() == x.rank() &&
               y.shape().with(axis, 0) == x.shape().with(axis, 0);
      });
    if (!part.value) part = x;
    if (chance(30)) part = moved(part);
    bound = std::max(bound, part.bound);
    parts.insert(chance(50) ? parts.begin() : parts.end(), part.value);
  }
  return {concat(parts, axis), bound};
}

Sized Confuser::view(const Sized& x) {
  if (x.rank() == 0) return {broadcast_to(x.value, {rows_}), x.bound};
  const int axis = axis_of(x);
  const int64_t n = x.shape()[axis];
  switch (draw(0, 8)) {
    case 0: {
      const int64_t start = draw(0, int(n));
      if (start == n && !chance(15)) return {slice(x.value, axis, n / 2, n), x.bound};
      return {slice(x.value, axis, start, draw(int(start), int(n))), x.bound};
    }
    case 1: {
      Ints order;
      for (int i = 0; i < x.rank(); ++i) order.push_back((i + axis) % x.rank());
      return {transpose(x.value, order), x.bound};
    }
    case 2:
      return reshaped(x);
    case 3:
      if (n % 2 == 0) return {split(x.value, 2, axis)[size_t(draw(0, 1))], x.bound};
      return {slice(x.value, axis, 0, n / 2), x.bound};
    case 4: {
      Ints low(size_t(x.rank()), 0), high = low;
      low[size_t(axis)] = draw(0, 2);
      high[size_t(axis)] = draw(0, 2);
      if (x.dtype() == DType::boolean) break;
      return {pad(x.value, low, high, 2), std::max<int64_t>(x.bound, 2)};
    }
    case 5:
      if (x.rank() < 4) return {broadcast_to(x.value, x.shape().insert(0, steps_)), x.bound};
      break;
    case 6: {
      // One row out of several.
      if (x.shape()[0] == 0) break;
      const int64_t at = draw(0, int(x.shape()[0]) - 1);
      return {reshape(slice(x.value, 0, at, at + 1), x.shape().without(0)), x.bound};
    }
    case 7:
      if (n >= 2 && x.dtype() != DType::boolean) {
        const Value late = slice(x.value, axis, 1, n), early = slice(x.value, axis, 0, n - 1);
        return tamed({late - early, held(x.dtype(), 2 * x.bound)});
      }
      break;
    default:
      break;
  }
  return moved(x);
}

Pool Confuser::histories(const Scope& scope, const Sized& y) {
  if (y.rank() < 2 || y.shape()[0] == 0) return {};
  const int64_t n = y.shape()[0];
  const bool behind = chance(30);
  const Value rest = behind ? slice(y.value, 0, 1, n) : slice(y.value, 0, 0, n - 1);
  const Shape step = y.shape().without(0);
  Pool made;
  for (int i = 0; i < 2; ++i) {
    Sized first = pick(scope, [&](const Sized& x) {
      return x.type() == Type{y.dtype(), step} || x.type() == Type{y.dtype(), step.insert(0, 1)};
    });
    if (!first.value) first = leaf(scope, {y.dtype(), step});
    const Value one = reshape(first.value, step.insert(0, 1));
    made.push_back(
        {behind ? concat({rest, one}, 0) : concat({one, rest}, 0), std::max(y.bound, first.bound)});
  }
  if (chance(50) && y.dtype() == DType::f32 && y.rank() <= 3 && y.shape().elements() > 0) {
    const Shape flat{y.shape().without(-1).elements(), y.shape()[-1]};
    const auto factor = [&](const Sized& x) {
      const Sized small = x.bound > 20 ? clipped(x, 9) : x;
      return Sized{reshape(small.value, flat), small.bound};
    };
    const Sized a = factor(made[0]), b = factor(made[1]);
    if (a.bound * b.bound * flat[0] <= kBoundLimit)
      made.push_back({matmul(a.value, b.value, true), a.bound * b.bound * flat[0]});
  }
  return made;
}

}  // namespace graphc::core::testing
