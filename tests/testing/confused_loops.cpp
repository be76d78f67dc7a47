// SPDX-License-Identifier: Apache-2.0
// Loops: carries that become each other, emits that are inputs, nested loops, zero steps.
#include <algorithm>

#include "ir/build.h"
#include "tests/testing/confused_moves.h"

namespace graphc::core::testing {

Shape Confuser::step_shape(Loop kind) {
  if (kind == Loop::of_cells) return {rows_, columns_};
  if (kind == Loop::around && chance(80))
    return chance(50) ? Shape{columns_, columns_} : Shape{inner_steps_, rows_, columns_};
  return themed_shape();
}

void Confuser::add_streams(Scope& scope, ScanParts& parts, Scope& body, Loop kind) {
  for (int i = one_of<int>({0, 1, 1, 1, 2, 2}); i > 0; --i) {
    const auto fits = [&](const Sized& x) { return x.rank() >= 1 && x.shape()[0] == parts.steps; };
    Sized stream;
    if (chance(kind == Loop::plain ? 70 : 40)) stream = pick(scope, fits);
    if (!stream.value) {
      const Shape step = step_shape(kind);
      const DType dtype = kind == Loop::plain ? themed_dtype() : DType::f32;
      stream = take(scope, {dtype, step.insert(0, parts.steps)});
    }
    if (chance(15)) stream = {reverse(stream.value, {0}), stream.bound};
    parts.streams.push_back(stream.value);
    const Type step{stream.dtype(), stream.shape().without(0)};
    body.pool.push_back({body.graph.input(step, "x"), stream.bound});
  }
}

void Confuser::add_first_steps(const ScanParts& parts, Scope& body) {
  for (size_t i = 0; i < parts.streams.size(); ++i) {
    const Sized step = body.pool[i];
    if (step.rank() != 2 || parts.steps == 0 || !chance(60)) continue;
    const Value first = reshape(slice(parts.streams[i], 0, 0, 1), step.shape());
    body.pool.push_back(inside(body, {first, step.bound}));
    body.of_one_place.push_back({step, body.pool.back()});
  }
}

void Confuser::add_carries(Scope& scope, ScanParts& parts, Scope& body, Loop kind) {
  const int count = kind == Loop::of_cells ? draw(1, 3) : one_of<int>({0, 1, 1, 2, 2, 2, 3});
  for (int i = count; i > 0; --i) {
    Sized initial;
    if (!states_.empty() && chance(20)) {
      initial = inside(scope, one_of(states_));
    } else if (kind == Loop::of_cells) {
      initial = take(scope, {DType::f32, {rows_, chance(75) ? columns_ : half_}});
    } else if (kind == Loop::around && chance(75)) {
      const Type type{DType::f32, {columns_, columns_}};
      initial = chance(60) ? leaf(scope, type) : take(scope, type);
    } else if (!parts.initial.empty() && chance(60)) {
      initial = take(scope, parts.initial.back().type());
    } else if (chance(50)) {
      initial = take(scope, {DType::f32, {rows_, chance(70) ? columns_ : half_}});
    } else {
      initial = pick(scope, [](const Sized& x) { return x.rank() <= 4; });
      if (!initial.value) initial = leaf(scope, {themed_dtype(), themed_shape()});
    }
    initial = tamed(initial);
    parts.initial.push_back(initial.value);
    const int64_t bound = is_floating(initial.dtype()) || initial.dtype() == DType::boolean
                              ? std::max<int64_t>(initial.bound, 8)
                              : held(initial.dtype(), kWild);
    const Sized carry{body.graph.input(initial.type(), "h"), bound};
    body.carries.push_back(carry);
    body.pool.push_back(carry);
  }
}

Sized Confuser::next_of(const Scope& body, const Sized& carry, const Pool& earlier, Loop kind) {
  const auto alike = [&](const Sized& x) { return x.type() == carry.type(); };
  const auto other = [&](const Pool& pool) {
    Pool found;
    std::ranges::copy_if(pool, std::back_inserter(found), alike);
    return found.empty() ? Sized{} : one_of(found);
  };
  Sized next;
  switch (draw(0, kind == Loop::of_cells ? 17 : 11)) {
    case 0:
    case 1:
    case 2:
      next = other(body.carries);
      break;
    case 3:
      next = other(earlier);
      break;
    case 4:
      next = pick(body, alike);
      break;
    case 5:
      next = chance(50) ? Sized{splat(body.graph, 1, carry.type()), 1} : leaf(body, carry.type());
      break;
    case 6:
      next = moved(carry);
      break;
    case 7: {
      const Sized found = pick(body, alike);
      next = combined(carry, tamed(found));
      break;
    }
    default:
      next = cell(body, carry);
      break;
  }
  if (!next.value) next = cell(body, carry);
  return next.bound > carry.bound ? clipped(next, carry.bound) : next;
}

Pool Confuser::next_values(const Scope& body, Loop kind, bool become_one) {
  Pool next;
  for (const Sized& carry : body.carries) {
    const bool alike = !next.empty() && next[0].type() == carry.type();
    if (!become_one) {
      next.push_back(next_of(body, carry, next, kind));
    } else if (alike && next[0].bound <= carry.bound) {
      next.push_back(next[0]);
    } else {
      next.push_back(cell(body, carry, Cell::of_all));
    }
  }
  return next;
}

Sized Confuser::emit_of(const Scope& body, const Pool& next) {
  const auto small = [](const Sized& x) { return x.rank() <= 4; };
  Sized emit;
  const Pool dead = unused(body);
  if (!dead.empty() && chance(50)) {
    emit = one_of(dead);
  } else if (!next.empty() && chance(45)) {
    emit = one_of(next);
  } else if (!body.carries.empty() && chance(25)) {
    emit = one_of(body.carries);
  } else {
    emit = pick(body, small);
  }
  if (!emit.value || !small(emit)) emit = leaf(body, {DType::f32, {rows_, columns_}});
  if (chance(8)) {
    // More row axes than its rank suggests, next to values of lower rank.
    const int64_t rows = chance(50) ? 1 : rows_;
    emit = take(body, {emit.dtype(), {1, rows, columns_}});
  }
  if (chance(20) && emit.rank() > 0) {
    const Sized part = view(emit);
    if (small(part)) emit = part;
  }
  if (chance(5) && emit.rank() > 0) {
    const int axis = axis_of(emit);
    const int64_t at = emit.shape()[axis] / 2;
    emit = {slice(emit.value, axis, at, at), emit.bound};
  }
  return emit;
}

Confuser::Loop Confuser::kind_of_loop(const Scope& scope) {
  if (chance(40)) return Loop::plain;
  return scope.depth < 2 && loops_ < 4 && chance(30) ? Loop::around : Loop::of_cells;
}

Pool Confuser::loop(Scope& scope, Loop kind) {
  ++loops_;
  auto graph = std::make_unique<Graph>("body");
  graph->set_parent(&scope.graph);
  Scope body{.graph = *graph, .outer = &scope, .depth = scope.depth + 1};
  ScanParts parts;
  const int64_t usual = body.depth == 2 && chance(70) ? inner_steps_ : steps_;
  parts.steps =
      chance(80) ? usual : one_of<int64_t>({0, 0, 1, 2, 3, rows_, columns_ <= 8 ? columns_ : 2});
  parts.reverse = chance(30);
  add_streams(scope, parts, body, kind);
  add_carries(scope, parts, body, kind);
  if (kind == Loop::around) add_first_steps(parts, body);
  // Carries that become one, whose history is then that of all of them.
  const int often = kind == Loop::around ? 60 : options_.gradient ? 35 : 15;
  const bool become_one = body.carries.size() > 1 && chance(often);
  if (become_one && body.carries[0].type() == body.carries[1].type())
    body.of_one_place.push_back({body.carries[0], body.carries[1]});
  const size_t before = body.pool.size();
  if (kind == Loop::around) {
    for (const Sized& made : loop(body, chance(85) ? Loop::of_cells : Loop::plain))
      body.pool.push_back(made);
  }
  const size_t behind = body.pool.size();
  grow(body, kind == Loop::plain ? draw(0, 4) : draw(0, 1));

  Pool emits;
  // An unused nested loop would be removed.
  if (kind == Loop::around) {
    const Sized inner = body.pool[size_t(draw(int(before), int(behind) - 1))];
    if (inner.rank() <= 4) emits.push_back(inner);
  }
  const Pool next = next_values(body, kind, become_one);
  if (become_one) emits.push_back(next[0]);
  for (int i = one_of<int>({0, 1, 1, 2, 2, 3}); i > 0 || (next.empty() && emits.empty()); --i)
    emits.push_back(emit_of(body, next));
  Values results;
  for (const Sized& value : next) results.push_back(value.value);
  for (const Sized& value : emits) results.push_back(value.value);
  graph->set_results(results);
  for (const auto& [outer, inner] : graph->captures()) parts.captures.push_back(outer);
  parts.body = freeze(std::move(graph));
  const Node& scan = add_scan(scope.graph, std::move(parts));
  Pool made;
  if (become_one && scope.depth == 0 && chance(75))
    results_.push_back(scan.result(int(emits.size()) - 1));
  for (size_t i = 0; i < emits.size(); ++i) made.push_back({scan.result(int(i)), emits[i].bound});
  for (size_t i = 0; i < body.carries.size(); ++i)
    made.push_back({scan.result(int(emits.size() + i)), body.carries[i].bound});
  if (!emits.empty() && chance(25)) {
    const Pool late = histories(scope, made[size_t(draw(0, int(emits.size()) - 1))]);
    made.insert(made.end(), late.begin(), late.end());
  }
  return made;
}

}  // namespace graphc::core::testing
