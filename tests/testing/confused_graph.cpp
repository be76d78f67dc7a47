// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/confused_graph.h"

#include <algorithm>
#include <numeric>

#include "tests/testing/confused_moves.h"

namespace graphc::core::testing {

/// A move of a kind that the graph prefers; makes nothing if it does not fit the existing values.
Pool Confuser::move(Scope& scope) {
  const auto small = [](const Sized& x) { return x.shape().elements() <= 2048; };
  const auto long_enough = [&](const Sized& x) { return small(x) && x.rank() > 0; };
  const int sum = std::accumulate(weights_.begin(), weights_.end(), 0);
  int kind = 0;
  for (int left = draw(0, std::max(sum - 1, 0)); kind < int(weights_.size()) - 1; ++kind) {
    if ((left -= weights_[size_t(kind)]) < 0) break;
  }
  const auto some = [&](const Holds& holds) {
    const Sized x = pick(scope, holds);
    return x.value ? x : leaf(scope, {DType::f32, {rows_, columns_}});
  };
  switch (kind) {
    case 0:
      return {unary(tamed(some(small)))};
    case 1:
    case 2:
      return {binary(scope, some(small))};
    case 3:
      return {view(some(small))};
    case 4:
      return chance(60) ? Pool{joined(scope, some(long_enough))}
                        : histories(scope, some(long_enough));
    case 5:
      return table(scope);
    case 6:
      return product(scope);
    case 7:
      if (loops_ < 4 && scope.depth < 3 && (scope.depth == 0 || chance(50)))
        return loop(scope, kind_of_loop(scope));
      return {binary(scope, some(small))};
    default:
      if (chance(7)) return {long_iota(scope)};
      if (chance(7) && !options_.real && !options_.gradient && scope.depth == 0) {
        const Sized x = some([](const Sized& v) { return v.dtype() == DType::f32; });
        if (x.dtype() == DType::f32) results_.push_back(beyond_range(x));
        return {};
      }
      return {reduced(some(small))};
  }
}

void Confuser::grow(Scope& scope, int moves) {
  for (int i = 0; i < moves; ++i) {
    for (const Sized& made : move(scope)) {
      const int64_t most = made.dtype() == DType::f32 ? kBoundLimit : kWild;
      GRAPHC_CHECK(made.bound <= most || options_.real, "a bound of {}", made.bound);
      if (made.shape().elements() <= 4096 && made.rank() <= 5) scope.pool.push_back(made);
    }
  }
}

GraphPtr Confuser::run() {
  auto graph = std::make_unique<Graph>("confused");
  Scope root{.graph = *graph};
  root_ = &root;
  add_states(root);
  for (int i = draw(0, 2); i > 0; --i) leaf(root, {themed_dtype(), themed_shape()});
  const int moves = draw(1, 8);
  grow(root, moves);
  if (loops_ == 0 && chance(50)) {
    for (const Sized& made : loop(root, kind_of_loop(root))) root.pool.push_back(made);
    grow(root, draw(0, 3));
  }
  Values results = results_;
  if (options_.gradient) add_gradient(root, results);
  set_next(root, results);
  for (const Sized& dead : unused(root)) {
    if (results.size() < 5 && chance(75)) results.push_back(dead.value);
  }
  for (int i = draw(results.empty() ? 1 : 0, 2); i > 0; --i) results.push_back(pick(root).value);
  graph->set_results(results);
  return freeze(std::move(graph));
}

GraphPtr confused_graph(unsigned seed, const ConfusedOptions& options) {
  return Confuser(seed, options).run();
}

}  // namespace graphc::core::testing
