// SPDX-License-Identifier: Apache-2.0
// Where a worker stands in the loops of a plan, and what an address is from there.
#pragma once

#include <vector>

#include "codegen/step/plan.h"

namespace graphc::core {

/// One loop that is running: how many iterations have passed, and the index of the step, which runs
/// backwards in a reverse loop.
struct LoopPosition {
  int64_t iteration = 0, step = 0;
};

/// By depth, outermost first.
using Position = std::vector<LoopPosition>;

/// A place in a buffer of the plan.
struct BufferPlace {
  int buffer = -1;
  int64_t offset = 0;  ///< bytes
  bool operator==(const BufferPlace&) const = default;
};

/// Iteration `i` of a loop.
inline LoopPosition position_in(const LoopCall& loop, int64_t i) {
  return {i, loop.reverse ? loop.steps - 1 - i : i};
}

/// The address that counts at this position: itself, or that of a first iteration behind it.
inline const Address& at_position(const Address& address, const Position& position) {
  const Address* from = &address;
  while (from->at_first && position[size_t(from->first_loop)].iteration == 0)
    from = from->at_first.get();
  return *from;
}

/// The place that an address is at this position.
inline BufferPlace resolve(const Address& address, const Position& position) {
  const Address& from = at_position(address, position);
  BufferPlace place{from.buffer, from.offset};
  for (const Address::Term& term : from.terms) {
    const LoopPosition& loop = position[size_t(term.loop)];
    place.offset += term.step * loop.step;
    if (term.parity != 0 && loop.iteration % 2 == 1) place.offset += term.parity;
  }
  return place;
}

}  // namespace graphc::core
