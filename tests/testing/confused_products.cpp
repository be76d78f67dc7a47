// SPDX-License-Identifier: Apache-2.0
// Moves with products: of matrices that are parts of others, of values with themselves.
#include <algorithm>

#include "ir/build.h"
#include "tests/testing/confused_moves.h"

namespace graphc::core::testing {
namespace {

bool is_matrix(const Sized& x) {
  return x.dtype() == DType::f32 && x.rank() == 2 && x.shape().elements() <= 2048;
}

}  // namespace

Sized Confuser::matrix(const Scope& scope, int64_t k, int64_t n) {
  const auto exact = [&](const Sized& x) {
    return is_matrix(x) && x.bound <= 20 && (x.shape() == Shape{k, n} || x.shape() == Shape{n, k});
  };
  const auto whole = [&](const Sized& x) {
    if (x.dtype() != DType::f32 || x.bound > 20 || x.shape().elements() > 2048) return false;
    if (x.rank() == 3) return x.shape()[0] > 0 && x.shape().without(0) == Shape{k, n};
    return x.rank() == 2 && x.shape()[0] >= k && x.shape()[1] >= n && x.shape() != Shape{k, n};
  };
  const int kind = draw(0, 9);
  if (kind <= 3) {
    if (const Sized found = pick(scope, exact); found.value) return found;
  } else if (kind <= 7) {
    const Pool all = visible(scope, whole);
    if (all.empty()) return leaf(scope, {DType::f32, {k, n}});
    // In its original scope, or in this one.
    Sized from = all[size_t(draw(0, int(all.size()) - 1))];
    if (chance(30)) from = inside(scope, from);
    if (from.rank() == 3) {
      const int64_t at = draw(0, int(from.shape()[0]) - 1);
      const Value one = slice(from.value, 0, at, at + 1);
      return inside(scope, {reshape(one, {k, n}), from.bound});
    }
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t wanted = axis == 0 ? k : n, there = from.shape()[axis];
      if (there == wanted) continue;
      const int64_t start = chance(60) ? 0 : draw(0, int(there - wanted));
      from.value = slice(from.value, axis, start, start + wanted);
    }
    return inside(scope, from);
  }
  return leaf(scope, {DType::f32, chance(25) ? Shape{n, k} : Shape{k, n}});
}

Sized Confuser::product_with(const Scope& scope, const Sized& from, int64_t n) {
  const Sized x = from.bound > 20 ? clipped(from, 9) : from;
  const int64_t k = x.shape()[-1];
  const Sized m = matrix(scope, k, n);
  const bool across = m.shape() != Shape{k, n} || (k == n && chance(25));
  return {matmul(x.value, m.value, false, across), x.bound * m.bound * std::max<int64_t>(k, 1)};
}

Pool Confuser::product(const Scope& scope) {
  Sized x = pick(scope, [](const Sized& v) {
    return v.dtype() == DType::f32 && v.rank() >= 2 && v.rank() <= 4 &&
           v.shape().elements() <= 1024;
  });
  if (!x.value) return {};
  if (x.bound > 20) x = clipped(x, 9);
  const int64_t m = x.shape()[-2], k = x.shape()[-1];
  const auto bound = [&](int64_t terms) { return x.bound * x.bound * std::max<int64_t>(terms, 1); };
  switch (draw(0, 6)) {
    case 0:
      return {{matmul(x.value, x.value, true), bound(m)}};
    case 1:
      return {{matmul(x.value, x.value, false, true), bound(k)}};
    case 2:
      if (m == k) return {{matmul(x.value, x.value), bound(k)}};
      break;
    case 3:
      if (x.rank() > 2) {
        const Sized y =
            pick(scope, [&](const Sized& v) { return v.type() == x.type() && v.bound <= 20; });
        if (y.value)
          return {{matmul(x.value, y.value, true), x.bound * y.bound * std::max<int64_t>(m, 1)}};
      }
      break;
    case 4: {
      // Two products with one matrix, or with parts of one.
      const Sized a = product_with(scope, x, columns_), b = product_with(scope, x, columns_);
      return {a, b, {a.value - b.value, a.bound + b.bound}};
    }
    default:
      break;
  }
  return {product_with(scope, x, one_of<int64_t>({columns_, columns_, half_, rows_, k, m, 1}))};
}

Pool Confuser::products_of_one_place(const Scope& scope, const Sized& carry) {
  if (scope.outer == nullptr || scope.outer->of_one_place.empty()) return {};
  const auto [first, second] = one_of(scope.outer->of_one_place);
  const Shape& shape = first.shape();
  if (!is_matrix(carry) || !is_matrix(first) || std::max(first.bound, second.bound) > 20 ||
      shape[1] != carry.shape()[1])
    return {};
  // Each with its own carry: products of one value would be merged.
  Pool left, products;
  std::ranges::copy_if(scope.carries, std::back_inserter(left), [&](const Sized& x) {
    return is_matrix(x) && x.shape() == carry.shape().with(1, shape[0]);
  });
  std::ranges::shuffle(left, random_);
  if (left.size() < 2) return {};
  for (const auto& [from, matrix] : {std::pair(left[0], first), {left[1], second}}) {
    const Sized x = from.bound > 20 ? clipped(from, 9) : from;
    const int64_t bound = x.bound * matrix.bound * std::max<int64_t>(shape[0], 1);
    products.push_back({matmul(x.value, inside(scope, matrix).value), bound});
  }
  return products;
}

Sized Confuser::cell(const Scope& scope, const Sized& carry, Cell kind) {
  const auto rows = [&](const Sized& x) {
    return x.dtype() == DType::f32 && x.rank() == 2 && x.shape()[0] == carry.shape()[0] &&
           x.shape()[1] <= 64;
  };
  Pool left;
  const bool may_multiply = carry.dtype() == DType::f32 && carry.rank() == 2;
  if (may_multiply) std::ranges::copy_if(scope.carries, std::back_inserter(left), rows);
  const bool of_one_place = scope.outer != nullptr && !scope.outer->of_one_place.empty();
  Pool terms;
  if (of_one_place && chance(75)) terms = products_of_one_place(scope, carry);
  if (kind == Cell::of_all && !of_one_place) {
    for (const Sized& x : left) terms.push_back(product_with(scope, x, carry.shape()[1]));
  }
  // Further products of the same carries would be merged with those.
  const int products = of_one_place || !terms.empty() ? 15 : 65;
  for (int i = draw(1, 3); i > 0; --i) {
    Sized term;
    if (may_multiply && chance(products)) {
      const Sized x = !left.empty() && chance(75) ? one_of(left) : pick(scope, rows);
      if (x.value) term = product_with(scope, x, carry.shape()[1]);
    }
    terms.push_back(term.value ? term : take(scope, carry.type()));
  }
  Sized sum;
  for (Sized term : terms) {
    if (term.bound > kBoundLimit / 8) term = clipped(term, 9);
    if (!sum.value) {
      sum = term;
    } else if (carry.dtype() == DType::boolean) {
      sum = combined(sum, term);
    } else {
      sum = {sum.value + term.value, sum.bound + term.bound};
    }
  }
  return clipped(sum, carry.bound);
}

}  // namespace graphc::core::testing
