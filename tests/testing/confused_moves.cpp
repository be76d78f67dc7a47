// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/confused_moves.h"

#include <algorithm>
#include <set>

#include "ir/build.h"

namespace graphc::core::testing {
namespace {

using Ints = std::vector<int64_t>;

}  // namespace

Confuser::Confuser(unsigned seed, const ConfusedOptions& options)
    : options_(options), random_(seed) {
  steps_ = extent({1, 2, 3, 3, 5, 5});
  inner_steps_ = extent({1, 2, 2, 3, 3});
  rows_ = extent({1, 2, 3, 4, 5, 8});
  columns_ = extent({1, 2, 4, 5, 8, 8, 16, 16, 17, 33});
  half_ = columns_ / 2;
  integers_ = chance(30) ? 60 : 5;
  // A graph has none, some or many of each kind.
  for (int kind = 0; kind < 9; ++kind) weights_.push_back(one_of<int>({0, 1, 1, 2, 5}));
}

/// Usually one of these, sometimes 0.
int64_t Confuser::extent(std::initializer_list<int64_t> usual) {
  return chance(3) ? 0 : one_of(std::vector<int64_t>(usual));
}

Shape Confuser::themed_shape() {
  const int64_t t = steps_, r = rows_, c = columns_, h = half_;
  static constexpr int kinds = 20;
  switch (draw(0, kinds - 1)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return {r, c};
    case 5:
    case 6:
      return {c, c};
    case 7:
    case 8:
    case 9:
      return {t, r, c};
    case 10:
      return {c};
    case 11:
      return chance(50) ? Shape{r, 1} : Shape{1, c};
    case 12:
      return chance(50) ? Shape{} : Shape{r};
    case 13:
      return {1, r, c};
    case 14:
      return {t, c, c};
    case 15:
      return {r, h};
    case 16:
      return {h, c};
    case 17:
      return {t, inner_steps_, r, c};
    case 18:
      return {1, 1, c};
    default:
      return {t};
  }
}

DType Confuser::themed_dtype() {
  if (!chance(integers_)) return DType::f32;
  return one_of<DType>({DType::i32, DType::i32, DType::i64, DType::u32, DType::u8, DType::boolean});
}

Pool Confuser::visible(const Scope& scope, const Holds& holds) const {
  Pool all;
  if (scope.outer != nullptr) all = visible(*scope.outer, holds);
  std::ranges::copy_if(scope.pool, std::back_inserter(all), holds);
  return all;
}

Sized Confuser::inside(const Scope& scope, const Sized& x) const {
  return {scope.graph.capture(x.value), x.bound};
}

Sized Confuser::pick(const Scope& scope, const Holds& holds) {
  const Pool all = visible(scope, holds);
  if (all.empty()) return {};
  const int last = int(all.size()) - 1;
  const int first = chance(50) ? std::max(0, last - 3) : 0;
  return inside(scope, all[size_t(draw(first, last))]);
}

Sized Confuser::pick(const Scope& scope) {
  const Sized found = pick(scope, [](const Sized&) { return true; });
  return found.value ? found : leaf(scope, {themed_dtype(), themed_shape()});
}

Pool Confuser::unused(const Scope& scope) const {
  std::set<std::pair<const Node*, int>> used;
  for (const Node& node : scope.graph.nodes()) {
    for (Value operand : node.operands) used.emplace(operand.node, operand.index);
  }
  Pool found;
  for (const Sized& x : scope.pool) {
    if (!x.value.node->operands.empty() && !used.contains({x.value.node, x.value.index}))
      found.push_back(x);
  }
  return found;
}

Sized Confuser::take(const Scope& scope, const Type& type) {
  if (chance(85)) {
    const Sized found = pick(scope, [&](const Sized& x) { return x.type() == type; });
    if (found.value) return found;
  }
  return leaf(scope, type);
}

Sized Confuser::list_constant(Graph& graph, const Type& type) {
  Attributes attributes{{"dtype", type.dtype},
                        {"shape", Ints(type.shape.begin(), type.shape.end())}};
  const bool has_sign = type.dtype == DType::i32 || type.dtype == DType::i64;
  Ints whole;
  std::vector<double> real;
  for (int64_t i = 0; i < type.shape.elements(); ++i) {
    if (is_floating(type.dtype)) {
      real.push_back(options_.real ? 0.25 * draw(-7, 7) : draw(-4, 4));
    } else {
      whole.push_back(type.dtype == DType::boolean ? draw(0, 1) : draw(has_sign ? -4 : 0, 4));
    }
  }
  if (is_floating(type.dtype)) {
    attributes.set("value", real);
  } else {
    attributes.set("value", whole);
  }
  return {graph.add(ops::constant, {}, attributes).result(), kLeafBound};
}

Sized Confuser::leaf(const Scope& scope, const Type& type) {
  const int kind = draw(0, 19);
  if (kind == 0 && type.shape.elements() <= 64) return list_constant(scope.graph, type);
  if (kind == 1) return {splat(scope.graph, draw(0, 1), type), 1};
  if (kind == 2 && type.dtype != DType::boolean && type.shape.rank() > 0) {
    const int axis = draw(0, type.shape.rank() - 1);
    return {iota(scope.graph, type.shape, axis, type.dtype), type.shape[axis]};
  }
  Graph& root = root_->graph;
  Sized made{root.input(type, "x"), kLeafBound};
  if (options_.gradient && type.dtype == DType::f32) {
    if (chance(30)) made.value = watch(options_.real ? made.value : round(made.value));
    leaves_.push_back(made.value);
  }
  root_->pool.push_back(made);
  return inside(scope, made);
}

}  // namespace graphc::core::testing
