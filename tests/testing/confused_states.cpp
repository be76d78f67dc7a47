// SPDX-License-Identifier: Apache-2.0
// States whose next values are other states, parts of themselves or results of loops; and
// gradients.
#include <algorithm>

#include "ir/build.h"
#include "tests/testing/confused_moves.h"

namespace graphc::core::testing {

void Confuser::add_states(Scope& root) {
  Type type{themed_dtype(), themed_shape()};
  for (int i = one_of<int>({0, 1, 1, 2, 2, 3}); i > 0; --i) {
    if (chance(30)) type = {themed_dtype(), themed_shape()};
    const int64_t bound = is_floating(type.dtype) ? kLeafBound : held(type.dtype, kWild);
    states_.push_back({root.graph.state(type, "s" + std::to_string(i)), bound});
    root.pool.push_back(states_.back());
    if (type.dtype == DType::f32) leaves_.push_back(states_.back().value);
  }
}

Sized Confuser::next_state(Scope& root, const Sized& state) {
  const auto alike = [&](const Sized& x) { return x.type() == state.type(); };
  Sized next;
  switch (draw(0, 12)) {
    case 0:
    case 1: {
      Pool others;
      std::ranges::copy_if(states_, std::back_inserter(others), alike);
      next = one_of(others);
      break;
    }
    case 2:
      next = moved(state);
      break;
    case 3:
      next = leaf(root, state.type());
      break;
    case 4:
    case 7: {
      const Sized x = take(root, state.type());
      next = moved(combined(state, tamed(x)));
      break;
    }
    case 5:
    case 6: {
      const Sized x = take(root, state.type());
      next = combined(state, tamed(x));
      break;
    }
    default:
      next = pick(root, alike);
      break;
  }
  return is_floating(state.dtype()) && next.bound > kNextBound ? clipped(next, kLeafBound) : next;
}

void Confuser::set_next(Scope& root, Values& results) {
  Sized shared;
  for (const Sized& state : states_) {
    if (chance(15)) continue;
    Sized next = next_state(root, state);
    if (shared.value && shared.type() == state.type() && chance(20)) next = shared;
    shared = next;
    root.graph.set_next(state.value, next.value);
    // Readers of the old value, next to or after the new one.
    if (chance(40)) results.push_back(next.value);
    if (chance(30)) results.push_back(state.value);
    if (chance(30)) results.push_back(combined(tamed(next), state).value);
  }
}

void Confuser::add_gradient(Scope& root, Values& results) {
  Value loss;
  Pool floats;
  for (const Sized& x : root.pool) {
    if (x.dtype() == DType::f32 && !x.value.node->is(ops::input)) floats.push_back(x);
  }
  for (int i = draw(1, 3); i > 0 && !floats.empty(); --i) {
    Value x =
        (chance(70)
             ? floats[floats.size() - 1 - size_t(draw(0, std::min(2, int(floats.size()) - 1)))]
             : one_of(floats))
            .value;
    if (chance(50)) {
      const Value ramp = cast(iota(root.graph, {x.shape().elements()}), DType::f32);
      x = x * reshape(remainder(ramp, 3) - 1, x.shape());
    }
    const Value term = sum(chance(30) ? square(clipped({x, kBoundLimit}, 9).value) : x);
    loss = loss ? loss + term : term;
  }
  if (!loss || leaves_.empty()) return;
  Values operands{loss};
  for (Value leaf : leaves_) {
    if (operands.size() == 1 || chance(70)) operands.push_back(leaf);
  }
  const Node& grad = root.graph.add(ops::grad, operands);
  for (int i = 0; i < grad.results(); ++i) results.push_back(grad.result(i));
  for (const Sized& state : states_) {
    for (size_t i = 1; i < operands.size(); ++i) {
      if (operands[i] == state.value && chance(50)) {
        root.pool.push_back(
            clipped({state.value - clipped({grad.result(int(i) - 1), kBoundLimit}, 9).value, 13},
                    kLeafBound));
      }
    }
  }
  if (chance(30)) results.push_back(loss);
}

}  // namespace graphc::core::testing
