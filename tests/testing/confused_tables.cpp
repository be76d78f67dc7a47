// SPDX-License-Identifier: Apache-2.0
// Moves by index: rows of a table that are its own rows, its own indices, or a constant.
#include <algorithm>

#include "ir/build.h"
#include "tests/testing/confused_moves.h"

namespace graphc::core::testing {
namespace {

using Ints = std::vector<int64_t>;

bool is_number(const Sized& x) { return x.dtype() != DType::boolean; }

}  // namespace

/// Integers within the table's rows; `count` of them unless it is negative.
Sized Confuser::indices(const Scope& scope, const Sized& table, int64_t count) {
  const int64_t rows = table.shape()[0];
  const auto clamped = [&](const Sized& x) {
    return Sized{minimum(maximum(x.value, 0), rows - 1), rows - 1};
  };
  const auto fits = [&](const Sized& x) {
    return is_integer(x.dtype()) && x.rank() >= 1 && x.rank() <= 2 && x.shape().elements() <= 40 &&
           (count < 0 || x.shape() == Shape{count}) && (x.dtype() != DType::u8 || rows <= 256);
  };
  if (fits(table) && chance(50)) return clamped(table);
  if (chance(60)) {
    if (const Sized found = pick(scope, fits); found.value) return clamped(found);
  }
  const int64_t n = count >= 0 ? count : one_of<int64_t>({0, 1, 1, 2, 2, rows_, steps_, half_});
  if (n > 0 && chance(40)) return clamped(leaf(scope, {DType::i32, {n}}));
  if (n <= rows && chance(20)) return {iota(scope.graph, {n}), n};
  Ints list;
  for (int64_t i = 0; i < n; ++i) list.push_back(draw(0, int(rows) - 1));
  const Attributes constant{{"dtype", DType::i32}, {"shape", Ints{n}}, {"value", list}};
  return {scope.graph.add(ops::constant, {}, constant).result(), rows - 1};
}

Pool Confuser::table(const Scope& scope) {
  const auto fits = [](const Sized& x) {
    return is_number(x) && x.rank() >= 1 && x.rank() <= 3 && x.shape()[0] >= 1 &&
           x.shape().elements() <= 512;
  };
  Sized base;
  if (chance(20) && rows_ > 0) {
    base = list_constant(scope.graph, {DType::f32, {rows_, columns_}});
  } else {
    base = pick(scope, fits);
  }
  if (!base.value) return {};
  base = tamed(base);
  const bool all_rows = chance(40);
  const Sized index = indices(scope, base, all_rows ? base.shape()[0] : -1);
  const int64_t count = index.shape().elements();
  const Sized taken{gather(base.value, index.value), base.bound};
  const int kind = draw(0, 9);
  if (kind <= 1) return {taken};
  Sized rows = taken;
  if (taken.type() == base.type() && chance(60)) {
    rows = base;
  } else if (chance(60)) {
    rows = tamed(take(scope, taken.type()));
  }
  const int64_t sum = held(base.dtype(), base.bound + std::max<int64_t>(count, 1) * rows.bound);
  if (kind <= 6) return {{scatter_add(base.value, index.value, rows.value), sum}};
  if (kind <= 8) {
    return {{scatter(base.value, index.value, rows.value), std::max(base.bound, rows.bound)}};
  }
  if (count == 0) return {taken};
  const auto [distinct, sums] = merge_rows(index.value, rows.value);
  return {{distinct, base.shape()[0]}, {sums, sum}};
}

}  // namespace graphc::core::testing
